package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersionsAreThoseThatPackageManagersOrder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "v0.1.0-rc.1": "0.1.0-rc.1",
		"": "", "1.2": "", "1.2.3+4": "", "01.2.3": "", "1.2.3;ls": "", "dev": "", "1.2.3-": "",
	} {
		got := ""
		if match := version.FindStringSubmatch(name); match != nil {
			got = match[1]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestUnknownPlatformsAreRefused(t *testing.T) {
	t.Parallel()
	if got, err := choose(""); err != nil || len(got) != 6 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := choose("linux/arm64,windows/amd64"); err != nil || len(got) != 2 || got[1].program() != "modelgateway.exe" {
		t.Errorf("%v, %v", got, err)
	}
	for _, name := range []string{"linux", "plan9/amd64", "linux/amd64,"} {
		if _, err := choose(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestAReleaseIsNotMixedWithAnother(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "modelgateway_0.9.0.deb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parse(t.Context(), []string{"-version", "1.0.0", "-out", out}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
	if _, err := parse(t.Context(), []string{"-version", "soon"}); err == nil || !strings.Contains(err.Error(), "1.2.3") {
		t.Error(err)
	}
}

func TestTheTimeOfAReleaseIsThatOfItsCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if _, at, err := stamp(t.Context(), "."); err != nil || at.Unix() != 1700000000 {
		t.Errorf("%v, %v", at, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, _, err := stamp(t.Context(), "."); err == nil {
		t.Error("yesterday is accepted")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if _, _, err := stamp(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a commit is accepted")
	}
}

func TestArchivesDependOnTheirFilesAlone(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0).UTC()
	files := []content{{"modelgateway", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("terms")}}
	for _, write := range []func(string, []content, time.Time) ([]byte, error){tarball, zipped} {
		first, err := write("modelgateway_1.0.0", files, at)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := write("modelgateway_1.0.0", files, at); err != nil || !bytes.Equal(first, second) {
			t.Errorf("two archives differ: %v", err)
		}
		if later, err := write("modelgateway_1.0.0", files, at.Add(time.Hour)); err != nil || bytes.Equal(first, later) {
			t.Errorf("the time is not in the archive: %v", err)
		}
	}
	packed, err := tarball("modelgateway_1.0.0", files, at)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	header, err := tar.NewReader(plain).Next()
	if err != nil || header.Name != "modelgateway_1.0.0/modelgateway" || header.Mode != 0o755 || !header.ModTime.Equal(at) || header.Uname != "" {
		t.Errorf("%+v, %v", header, err)
	}
}

func TestChecksumsAreReadBySha256sum(t *testing.T) {
	t.Parallel()
	r := &release{out: t.TempDir()}
	for _, name := range []string{"b.zip", "a.tar.gz"} {
		if err := os.WriteFile(filepath.Join(r.out, name), []byte("contents of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
		r.add(name)
	}
	if err := r.writeChecksums(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := func() error {
		cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", checksumsName)
		cmd.Dir = r.out
		return cmd.Run()
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.out, "b.zip"), []byte("others"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(); err == nil {
		t.Error("a changed file is accepted")
	}
}

func TestListsOfModulesNameEachModule(t *testing.T) {
	t.Parallel()
	list := inventory{platforms[0], "1.0.0", strings.Repeat("a", 64), []module{
		{path: "stdlib", version: "1.26.0"}, {path: "example.com/a", version: "v1.2.3"}, {path: "gorm.io/gorm", version: "v1.31.0"},
	}, time.Unix(1700000000, 0).UTC()}
	for _, document := range []any{list.spdx(), list.cycloneDX()} {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"pkg:golang/stdlib@1.26.0", "pkg:golang/example.com/a@v1.2.3", "pkg:golang/gorm.io/gorm@v1.31.0",
			list.sum, "urn:uuid:" + list.uuid(), "2023-11-14T22:13:20Z"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
	}
	other := list
	other.sum = strings.Repeat("b", 64)
	if list.uuid() == other.uuid() {
		t.Error("the lists of two binaries have one id")
	}
}

func TestProvenanceHasTheSumOfEachFile(t *testing.T) {
	t.Parallel()
	r := &release{version: "1.0.0", out: t.TempDir(), commit: strings.Repeat("c", 40), time: time.Unix(1700000000, 0), platforms: platforms}
	if err := os.WriteFile(filepath.Join(r.out, "a.zip"), []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.add("a.zip")
	for _, step := range []func(context.Context) error{r.writeChecksums, r.writeProvenance} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(filepath.Join(r.out, r.provenanceName()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := checksum(filepath.Join(r.out, "a.zip"))
	if err != nil || !bytes.Contains(text, []byte(want)) || !bytes.Contains(text, []byte(r.commit)) {
		t.Errorf("%v\n%s", err, text)
	}
}
