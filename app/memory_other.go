//go:build !linux

package app

// dropProgramPages does nothing: other systems have another call for it, or none.
func dropProgramPages() {}
