// Package pages has what the programs that measure need to write pages of the documents.
package pages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Begin is the mark before the part of a page that a program writes.
func Begin(part string) string { return "<!-- " + part + " -->" }

// End is the mark after Begin's.
func End(part string) string { return "<!-- /" + part + " -->" }

// ErrNoMarks is of a page without the marks of a part.
var ErrNoMarks = errors.New("the page has no marks for the results")

// Rewrite puts text between the marks of a part of a file.
func Rewrite(file, part string, text []byte) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if page, err = Replace(page, part, text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, page, 0o644)
}

// Replace puts text between the marks of a part of a page.
func Replace(page []byte, part string, text []byte) ([]byte, error) {
	begin, end := []byte(Begin(part)), []byte(End(part))
	before, rest, found := bytes.Cut(page, begin)
	_, after, ended := bytes.Cut(rest, end)
	if !found || !ended {
		return nil, fmt.Errorf("%w: it needs %s and %s", ErrNoMarks, begin, end)
	}
	return slices.Concat(before, begin, []byte("\n"), bytes.TrimSpace(text), []byte("\n"), end, after), nil
}

// Revision is that of the source, with + when one of the files that match has been changed
// since; of all files when there is no pattern.
func Revision(patterns ...string) string {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(commit))
	status := append([]string{"status", "--porcelain", "--"}, patterns...)
	if changed, err := exec.Command("git", status...).Output(); err == nil && len(changed) > 0 {
		name += "+"
	}
	return name
}

// Processor is the name of the machine's processors.
func Processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // unnamed without it
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}
