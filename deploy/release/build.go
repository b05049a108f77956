package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platform is an operating system and a processor, as Go names them.
type platform struct{ system, processor string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.system + "/" + p.processor }

// program is the name of the binary.
func (p platform) program() string {
	if p.system == "windows" {
		return "modelgateway.exe"
	}
	return "modelgateway"
}

// choose reads a list of platforms.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for _, name := range strings.Split(list, ",") {
		at := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if at < 0 {
			return nil, fmt.Errorf("%q is none of the platforms %v", name, platforms)
		}
		chosen = append(chosen, platforms[at])
	}
	return chosen, nil
}

// build makes the binary, the archive and the lists of modules of each platform.
func (r *release) build(ctx context.Context) error {
	for _, p := range r.platforms {
		binary := r.binary(p)
		if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
			return err
		}
		// Nothing of the machine is in the binary: no path, no state of the checkout, no id of the build.
		arguments := []string{"build", "-trimpath", "-buildvcs=false", "-tags=nomsgpack", "-o", binary,
			"-ldflags=-s -w -buildid= -X modelgateway/app.release=v" + r.version, "."}
		environ := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=" + p.system, "GOARCH=" + p.processor,
			"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOTOOLCHAIN=local"}
		if _, err := command(ctx, r.root, environ, "go", arguments...); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if err := r.archive(p); err != nil {
			return err
		}
		if err := r.listModules(p); err != nil {
			return err
		}
	}
	return nil
}

// binary is where the binary of a platform is until it is in an archive.
func (r *release) binary(p platform) string {
	return filepath.Join(r.work, p.system+"-"+p.processor, p.program())
}

// base begins the names of the files of a platform.
func (r *release) base(p platform) string {
	return "modelgateway_" + r.version + "_" + p.system + "_" + p.processor
}

// goList asks the go command, started by which this program knows its module.
func goList(ctx context.Context, arguments ...string) (string, error) {
	return command(ctx, "", []string{"GOFLAGS=", "GOWORK=off"}, "go", append([]string{"list"}, arguments...)...)
}

// command runs a program, and returns what it prints.
func command(ctx context.Context, folder string, environ []string, name string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), environ...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w\n%s", name, err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
