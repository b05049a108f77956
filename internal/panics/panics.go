// Package panics describes panics for the log. The text of a panic may quote a prompt, so only texts that are known not to are
// shown.
package panics

import (
	"fmt"
	"runtime"
)

// Text describes the value of a panic: by the text of an error of the Go runtime or of a Moved, and else by its type.
func Text(value any) string {
	switch err := value.(type) {
	case runtime.Error:
		return err.Error()
	case *Moved:
		return err.Error()
	}
	return fmt.Sprintf("a panic with a value of the type %T", value)
}

// Stack is the stack of a panic, for the deferred function that has recovered its value.
func Stack(value any) string {
	if m, ok := value.(*Moved); ok {
		return m.stack + "\n" + stack()
	}
	return stack()
}

func stack() string {
	const most = 16 << 10
	text := make([]byte, most)
	return string(text[:runtime.Stack(text, false)])
}

// Moved is a panic of another goroutine, which the one that waited for it raises again.
type Moved struct {
	value any
	stack string
}

// Move is called by the deferred function that has recovered a value.
func Move(value any) *Moved { return &Moved{value, Stack(value)} }

// Error shows no more of the value than the log may.
func (m *Moved) Error() string { return Text(m.value) }
