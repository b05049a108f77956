//go:build !unix

package app

func noCoreDumps() {}
