//go:build !unix

package cli

func noCoreDumps() {}
