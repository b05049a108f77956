package middleware

import "runtime"

// stack is the stack of a panic, for the log.
func stack() string {
	const most = 16 << 10
	text := make([]byte, most)
	return string(text[:runtime.Stack(text, false)])
}
