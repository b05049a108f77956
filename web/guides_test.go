package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestGuideIsAPageOrAFileOfIt(t *testing.T) {
	for name, kind := range map[string]string{
		"quick-start": "text/html; charset=utf-8", "guide.js": "text/javascript; charset=utf-8", "console-usage.png": "image/png",
	} {
		file := Guide(name)
		if file == nil || file.Type != kind || len(file.ETag) < 10 {
			t.Errorf("%s: %+v", name, file)
			continue
		}
		if text, err := file.Text(); err != nil || len(text) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "none", "quick-start.html.gz", "../guides/quick-start", "quick-start.html", "page.html"} {
		if Guide(name) != nil {
			t.Errorf("there is a guide %q", name)
		}
	}
}

// literals are calls of a logger with a constant message: at the level WARN or ERROR, or at one that is computed.
var literals = regexp.MustCompile(`[lL]og\.(?:(?:Warn|Error)\(|Log\([^"]+,)\s*"([^"]+)"`)

func TestTroubleshootingExplainsEveryLogMessage(t *testing.T) {
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string]bool{}
	for _, folder := range []string{"app", "controllers", "middleware", "services", "models", "providers", "router"} {
		for _, source := range sources(t, "../"+folder) {
			for _, found := range literals.FindAllStringSubmatch(source, -1) {
				logged[found[1]] = true
				if !strings.Contains(string(page), "| `"+found[1]+"` |") {
					t.Errorf("docs/troubleshooting.md does not explain %q", found[1])
				}
			}
		}
	}
	if len(logged) < 35 {
		t.Errorf("only %d messages were found", len(logged))
	}
	_, rows, _ := strings.Cut(string(page), "## Log messages")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(rows, -1) {
		if !logged[row[1]] && !strings.HasPrefix(row[1], "…") {
			t.Errorf("docs/troubleshooting.md explains %q, which is not logged", row[1])
		}
	}
}

func TestTroubleshootingExplainsEveryCode(t *testing.T) {
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../api/error.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Codes of answers")
	table, _, _ = strings.Cut(table, "## Log messages")
	known := map[string]bool{}
	for _, code := range regexp.MustCompile(`(?m)^\s+Code\w+\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		known[code[1]] = true
	}
	if len(known) < 50 {
		t.Fatalf("%d codes", len(known))
	}
	explained := map[string]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.SplitN(line, " | ", 2)
		for _, code := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[0], -1) {
			if explained[code[1]] = true; !known[code[1]] {
				t.Errorf("there is no code %s", code[1])
			}
		}
	}
	for code := range known {
		if !explained[code] {
			t.Errorf("docs/troubleshooting.md has nothing to do for %s", code)
		}
	}
}

// sources are the Go files below a folder, without tests.
func sources(t *testing.T, folder string) (texts []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
