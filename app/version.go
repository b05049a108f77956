package app

import "runtime/debug"

// release is the version, set by the linker in release builds.
var release string //nolint:gochecknoglobals // set by the linker

// Version is the version that health, the log and the metrics name: that of the
// release, else that of the module, else "dev".
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
