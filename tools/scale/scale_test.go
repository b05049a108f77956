package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/longtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && !strings.HasPrefix(os.Args[1], "-") {
		main() // plays a role
	}
	os.Exit(m.Run())
}

// TestEveryPartMeasures runs all parts in small, with real servers and replicas, and reads
// the page that they write.
func TestEveryPartMeasures(t *testing.T) {
	longtest.Skip(t)
	runtime.LockOSThread() // children end with the thread that started them
	defer runtime.UnlockOSThread()
	page := filepath.Join(t.TempDir(), "scaling.md")
	var marks strings.Builder
	names := partNames()
	for _, name := range names {
		marks.WriteString("<!-- scale:" + name + " -->\nold\n<!-- /scale:" + name + " -->\n")
	}
	if err := os.WriteFile(page, []byte(marks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"-quick", "-md", page})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		part, _, _ := strings.Cut(string(text)[strings.Index(string(text), "<!-- scale:"+name+" -->"):], "<!-- /scale:")
		if rows := strings.Count(part, "\n|"); rows < 3 || strings.Contains(part, "NaN") || strings.Contains(part, "\nold\n") {
			t.Errorf("%s: %s", name, part)
		}
	}
}
