package web

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A browser learns of a module's imports when it has the module: what the first page waits for would come one after the other.
func TestTheDocumentNamesTheModulesThatTheConsoleStartsWith(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := console.ReadFile("console/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var named []string
	for _, link := range regexp.MustCompile(`<link rel="modulepreload" href="/console/(.+)">`).FindAllStringSubmatch(read(ConsoleDocument), -1) {
		named = append(named, link[1])
	}
	imports := regexp.MustCompile(`(?m)^(?:import|export|\}) .*from "(\..+)";$`)
	started := []string{"main.js"}
	for i := 0; i < len(started); i++ {
		for _, found := range imports.FindAllStringSubmatch(read(started[i]), -1) {
			if name := path.Join(path.Dir(started[i]), found[1]); !slices.Contains(started, name) {
				started = append(started, name)
			}
		}
	}
	slices.Sort(started)
	if want := slices.DeleteFunc(started, func(name string) bool { return name == "main.js" }); len(want) < 5 || !slices.Equal(named, want) {
		t.Errorf("%s names %v, the console starts with %v", ConsoleDocument, named, want)
	}
}

func TestTheConsoleIsSmall(t *testing.T) {
	t.Parallel()
	const most, mostTypeface = 260 << 10, 50 << 10 // bytes, compressed
	var files Files
	sum := 0
	err := fs.WalkDir(console, "console", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file := files.File(strings.TrimPrefix(path, "console/"))
		if file == nil || (file.Gzip == nil) != strings.HasSuffix(path, ".woff2") {
			t.Errorf("%s is not served compressed, or twice", path)
			return nil
		}
		if file.Gzip == nil {
			if text, err := file.Text(); err != nil || len(text) > mostTypeface {
				t.Errorf("%s has %d bytes, at most %d (%v)", path, len(text), mostTypeface, err)
			}
			return nil
		}
		sum += len(file.Gzip)
		return nil
	})
	if err != nil || sum == 0 {
		t.Fatal(sum, err)
	}
	t.Logf("%d bytes", sum)
	if sum > most {
		t.Errorf("%d bytes, at most %d", sum, most)
	}
}
