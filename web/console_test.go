package web

import (
	"io/fs"
	"strings"
	"testing"
)

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
