package middleware

import "runtime"

// stack is where a panic came from, for the log.
func stack() string {
	const most = 16 << 10
	text := make([]byte, most)
	return string(text[:runtime.Stack(text, false)])
}
