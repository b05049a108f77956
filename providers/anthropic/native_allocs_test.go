//go:build !race

package anthropic

import (
	"bytes"
	"io"
	"testing"

	"modelgateway/models/llm"
	"modelgateway/providers/upstream"
)

func TestAllocationsOfANativeRequest(t *testing.T) {
	p := provider("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		call := nativeCall(t, size)
		n := testing.AllocsPerRun(200, func() {
			if _, err := p.Prepare(call); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%d bytes: %v", size, n)
		if n > 8 { // of the native chat request 10
			t.Errorf("%d bytes: %v allocations, at most 8", size, n)
		}
	}
}

func TestAllocationsOfANativeAnswer(t *testing.T) {
	x, err := provider("http://127.0.0.1:1").native(nativeCall(t, 200), messagesPath)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(wholeMessageText)
	n := testing.AllocsPerRun(200, func() {
		stream, err := x.answer(text, "k")
		if err != nil {
			t.Fatal(err)
		}
		stream(func(*llm.Event, error) bool { return true })
	})
	t.Log(n)
	if n > 10 {
		t.Errorf("%v allocations, at most 10", n)
	}
}

// A text is copied out of the reader's buffer: that is the one allocation of an event.
func TestAllocationsOfANativeEvent(t *testing.T) {
	const count = 1000
	body := nativeStreamOf(count)
	x, err := provider("http://127.0.0.1:1").native(nativeCall(t, 200), messagesPath)
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(10, func() {
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(bytes.NewReader(body))), "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range stream {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Logf("%.3f", n/count)
	if each := n / count; each > 1.05 {
		t.Errorf("%.2f allocations for one event, at most 1", each)
	}
}
