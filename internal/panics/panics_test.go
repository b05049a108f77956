package panics

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// raised is what a function panics with.
func raised(f func()) (text, stack string) {
	defer func() {
		v := recover()
		text, stack = Text(v), Stack(v)
	}()
	f()
	return "", ""
}

func index(i int) int { return []int{1}[i] }

func TestOnlyTextsWithoutDataAreShown(t *testing.T) {
	for name, tt := range map[string]struct {
		f    func()
		want string
	}{
		"a text":            {func() { panic("the prompt") }, "a panic with a value of the type string"},
		"an error":          {func() { panic(errors.New("the prompt")) }, "a panic with a value of the type *errors.errorString"},
		"a wrapped error":   {func() { panic(fmt.Errorf("the prompt: %w", io.EOF)) }, "a panic with a value of the type *fmt.wrapError"},
		"an index":          {func() { index(3) }, "runtime error: index out of range [3] with length 1"},
		"another goroutine": {func() { panic(moved(func() { panic("the prompt") })) }, "a panic with a value of the type string"},
		"an index there":    {func() { panic(moved(func() { index(4) })) }, "runtime error: index out of range [4] with length 1"},
	} {
		text, stack := raised(tt.f)
		if text != tt.want || strings.Contains(stack, "the prompt") {
			t.Errorf("%s: %q, want %q; the stack: %s", name, text, tt.want, stack)
		}
		if !strings.Contains(stack, "panics_test.go") {
			t.Errorf("%s: the stack: %s", name, stack)
		}
	}
}

// moved is the panic of a function on a goroutine of its own.
func moved(f func()) *Moved {
	got := make(chan *Moved)
	go func() {
		defer func() { got <- Move(recover()) }()
		f()
	}()
	return <-got
}

func TestTheStackOfAnotherGoroutineIsKept(t *testing.T) {
	_, stack := raised(func() { panic(moved(func() { index(4) })) })
	if !strings.Contains(stack, "panics.index(") || strings.Index(stack, "panics.index(") > strings.Index(stack, "panics.raised(") {
		t.Errorf("%s", stack)
	}
}
