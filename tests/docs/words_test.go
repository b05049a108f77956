package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"modelgateway/tests/gatewaytest"
)

// Pages of reference are searched; the others are read.
func TestPagesCanBeReadInTenMinutes(t *testing.T) {
	t.Parallel()
	const most = 2000
	reference := []string{"configuration.md", "errors.md", "features.md", "troubleshooting.md"}
	pages, err := filepath.Glob(gatewaytest.File(t, "docs") + "/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for word := range strings.FieldsSeq(string(text)) {
			if strings.IndexFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 { // not the bars of a table
				n++
			}
		}
		if name := filepath.Base(page); n > most && !slices.Contains(reference, name) {
			t.Errorf("docs/%s has %d words, more than %d: leave out what nobody acts upon, or move reasons to docs/adr", name, n, most)
		}
	}
}
