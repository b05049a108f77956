package imports

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// size is how large a package may be: files, and lines that are neither blank nor comment.
type size struct{ files, lines int }

// larger are the packages that may be larger than the others. Those of the dialects and
// providers are to become smaller: their numbers may only go down. models has the tables of
// the former release beside the ledger until the next release; then it has 45 files and 5,000 lines.
var larger = map[string]size{
	"models":              {55, 6800},
	"dialects/responses":  {30, 4050},
	"providers/anthropic": {31, 3850},
	"providers/gemini":    {30, 3520},
}

func TestPackagesAndFilesAreOfASizeThatCanBeRead(t *testing.T) {
	t.Parallel()
	const root, mostOfAFile = "../..", 400
	sizes := map[string]size{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".git") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), "\n"); n > mostOfAFile {
			t.Errorf("%s has %d lines, more than %d", path, n, mostOfAFile)
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		s := sizes[filepath.ToSlash(name)]
		s.files++
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				s.lines++
			}
		}
		sizes[filepath.ToSlash(name)] = s
		return err
	})
	if err != nil || len(sizes) < 50 {
		t.Fatalf("%d packages: %v", len(sizes), err)
	}
	for name, s := range sizes {
		most, found := larger[name]
		if !found {
			most = size{30, 3500}
		}
		if s.files > most.files || s.lines > most.lines {
			t.Errorf("%s has %d files and %d lines, more than %d and %d", name, s.files, s.lines, most.files, most.lines)
		}
	}
}
