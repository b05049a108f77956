package providertest

import (
	"bytes"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/catalog"
)

func TestOwnRecordingsAreListedAndOfAllProviders(t *testing.T) {
	all := append(Load(t, Own()), Responses(t, Own())...)
	listed := map[string]bool{"index.json": true}
	count := map[string]int{}
	for _, r := range all {
		if listed[r.File] {
			t.Errorf("%s is listed twice", r.File)
		}
		listed[r.File] = true
		count[r.Provider]++
		if !strings.HasPrefix(r.File, r.Provider+"/") && !strings.HasPrefix(r.File, r.Provider+"-"+r.API+"/") {
			t.Errorf("%s is one of %s", r.File, r.Provider)
		}
	}
	for _, provider := range catalog.Providers() {
		if count[provider] < 14 {
			t.Errorf("%d recordings of %s", count[provider], provider)
		}
	}
	err := filepath.WalkDir(Own(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(Own(), path)
		if err == nil && !listed[filepath.ToSlash(name)] {
			t.Errorf("%s is not listed", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDirIsThatOfTheEnvironmentOrTheProject(t *testing.T) {
	t.Chdir(t.TempDir())
	for env, want := range map[string]string{
		"":                          Own(),
		filepath.FromSlash("/some"): filepath.FromSlash("/some"),
		"docs":                      filepath.Join(root(), "docs"),
	} {
		t.Setenv("RECORDINGS", env)
		if got := Dir(); got != want {
			t.Errorf("with %q it is %s", env, got)
		}
	}
}

func TestLoadRefusesAFolderWithoutRecordings(t *testing.T) {
	if _, err := load(t.TempDir(), "chat"); err == nil {
		t.Error("an empty folder is taken")
	}
}

func TestEventsEndBehindEmptyLines(t *testing.T) {
	for body, want := range map[string][]string{
		"":                           nil,
		"data: 1\n\ndata: 2\n\n":     {"data: 1\n\n", "data: 2\n\n"},
		"data: 1\r\n\r\ndata: 2\r\n": {"data: 1\r\n\r\n", "data: 2\r\n"},
		"data: 1\r\rdata: 2\r\r":     {"data: 1\r\r", "data: 2\r\r"},
		"a\nb\n\n\nc":                {"a\nb\n\n", "\n", "c"},
	} {
		var got []string
		for _, event := range Events([]byte(body)) {
			got = append(got, string(event))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	for _, r := range Load(t, Own()) {
		if joined := bytes.Join(Events(r.Body), nil); !bytes.Equal(joined, r.Body) {
			t.Errorf("%s loses bytes", r.File)
		}
	}
}

func TestScriptOfARecordingLeavesOutWhatBelongsToItsConnection(t *testing.T) {
	r := Recording{
		File: "x.sse", Stream: true, Status: http.StatusOK, Body: []byte("data: 1\n\ndata: 2\n\n"),
		Header: map[string]string{"retry-after": "3", "content-encoding": "gzip", "Content-Length": "9", "transfer-encoding": "chunked"},
	}
	s := r.Script()
	want := http.Header{"Retry-After": {"3"}, "Content-Type": {"text/event-stream"}}
	if len(s.Header) != len(want) || s.Header.Get("Retry-After") != "3" || s.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("header %v", s.Header)
	}
	if len(s.Pieces) != 2 {
		t.Errorf("pieces %q", s.Pieces)
	}
}
