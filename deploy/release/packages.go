package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// nfpm makes packages of Debian and of RPM. It is built from its module with go run.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// makePackages makes a deb and an rpm for each Linux.
func (r *release) makePackages(ctx context.Context) error {
	if !r.packages {
		return nil
	}
	tool := ""
	for _, p := range r.platforms {
		if p.system != "linux" {
			continue
		}
		if tool == "" {
			var err error
			if tool, err = r.installTool(ctx); err != nil {
				return err
			}
		}
		if err := r.pack(ctx, tool, p); err != nil {
			return err
		}
	}
	return nil
}

// installTool builds nfpm. RELEASE_NFPM names one that is built already.
func (r *release) installTool(ctx context.Context) (string, error) {
	if tool := os.Getenv("RELEASE_NFPM"); tool != "" {
		return filepath.Abs(tool)
	}
	environ := []string{"GOBIN=" + r.work, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}
	_, err := command(ctx, r.work, environ, "go", "install", "-trimpath", "-ldflags=-s -w", nfpm)
	return filepath.Join(r.work, "nfpm"), err
}

// pack makes the packages of a platform. nfpm expands variables in the paths of files, but not in all other places: the file of the
// configuration is filled in here.
func (r *release) pack(ctx context.Context, tool string, p platform) error {
	folder := filepath.Join(r.root, "deploy", "release", "package")
	text, err := os.ReadFile(filepath.Join(folder, "nfpm.yaml"))
	if err != nil {
		return err
	}
	filled := strings.NewReplacer("@VERSION@", r.version, "@ARCH@", p.processor, "@BINARY@", r.binary(p), "@ROOT@", r.root,
		"@MTIME@", r.time.Format("2006-01-02T15:04:05Z")).Replace(string(text))
	config := filepath.Join(r.work, "nfpm-"+p.processor+".yaml")
	if err := os.WriteFile(config, []byte(filled), 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		name := r.base(p) + "." + kind
		// Both formats take SOURCE_DATE_EPOCH for what has no time in the configuration.
		environ := []string{fmt.Sprint("SOURCE_DATE_EPOCH=", r.time.Unix())}
		arguments := []string{"package", "--config", config, "--packager", kind, "--target", filepath.Join(r.out, name)}
		if _, err := command(ctx, r.work, environ, tool, arguments...); err != nil {
			return err
		}
		r.add(name)
	}
	return nil
}
