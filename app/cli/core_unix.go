//go:build unix

package cli

import "syscall"

// noCoreDumps keeps the memory of the process, which holds keys, out of files. It
// cannot fail: a limit may always be lowered.
func noCoreDumps() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
