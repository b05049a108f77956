// Package npm installs pinned packages of npm for tests.
package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// packages are the files that say what is installed.
var packages = []string{"package.json", "package-lock.json"}

// Install installs the packages that the files of a folder name, once, in a folder of the
// user's cache that later runs find again, and returns that one. It begins with name.
func Install(name, from string) (string, error) {
	sum := sha256.New()
	for _, file := range packages {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(text) // a hash never fails to write
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	folder := filepath.Join(cache, "modelgateway-tests", name+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	return folder, installInto(folder, from)
}

// installInto installs into a new folder, which appears when it is complete.
func installInto(folder, from string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for _, name := range packages {
		if err := CopyFiles(fresh, filepath.Join(from, name)); err != nil {
			return err
		}
	}
	// npm ci would insist on the packages of every platform, which not every registry has.
	if err := run(fresh, "install", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	if err := os.Rename(fresh, folder); err != nil {
		if _, other := os.Stat(folder); other != nil {
			return err
		} // else another run was faster
	}
	return nil
}

// CopyFiles copies files into a folder.
func CopyFiles(folder string, files ...string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs npm in a folder.
func run(folder string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, os.Stderr, os.Stderr
	cmd.WaitDelay = time.Second
	return cmd.Run()
}
