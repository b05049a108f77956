package captures

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite new captures, and note what was removed")

// removed has the hash of each sentence that was removed, one a line.
const removed = "testdata/removed.txt"

const root = "../.."

// captures are the files with requests of real clients.
func captures(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{
		"dialects/*/testdata/requests/*.json", "providers/*/testdata/requests/*.json", "tests/*/testdata/agents/*.json",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		all = append(all, files...)
	}
	return all
}

func TestCapturesAreRewritten(t *testing.T) {
	known := hashes(t)
	for _, file := range captures(t) {
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Clone(old)
		if err := rewrite(text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if bytes.Equal(text, old) {
			continue
		}
		if !*update {
			t.Errorf("%s has words of others: run make golden", file)
			continue
		}
		now := sentences(text)
		for hash := range sentences(old) {
			if now[hash] == "" {
				known[hash] = true
			}
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		lines := strings.Join(slices.Sorted(maps.Keys(known)), "\n") + "\n"
		if err := os.WriteFile(removed, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoSentenceComesBack(t *testing.T) {
	known := hashes(t)
	if len(known) < 500 {
		t.Fatalf("only %d sentences are known", len(known))
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !strings.Contains(filepath.ToSlash(path), "/testdata/"):
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		for hash, sentence := range sentences(text) {
			if known[hash] {
				t.Errorf("%s has a sentence that was removed from a capture: %s …", path, sentence)
			}
		}
		return err
	})
	if err != nil || files < 300 {
		t.Errorf("%d files, %v", files, err)
	}
}

func hashes(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(removed)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for hash := range strings.FieldsSeq(string(text)) {
		known[hash] = true
	}
	return known
}

var (
	// ends are those of a sentence, in a text whose line ends may be escaped, even twice.
	ends = regexp.MustCompile(`\\+[nrt]|[.!?:;"\n]`)
	word = regexp.MustCompile(`[A-Za-z0-9_]+`)
)

// sentences are those of a file by their hash. Of each it takes the first six words, so that a
// text is known that was cut; shorter than four words is no sentence.
func sentences(text []byte) map[string]string {
	all := map[string]string{}
	for _, part := range ends.Split(strings.ToLower(string(text)), -1) {
		words := word.FindAllString(part, 6)
		if len(words) < 4 {
			continue
		}
		start := strings.Join(words, " ")
		hash := sha256.Sum256([]byte(start))
		all[hex.EncodeToString(hash[:6])] = start
	}
	return all
}

func TestARewrittenTextHasTheSameShape(t *testing.T) {
	const text = "<note>\\n# Reading files\\n\\n- Use the `read_file` tool, NOT \\\"cat\\\"; it takes 2,000 lines (max).\\n" +
		"\\tSee /home/user/x.txt \\u2014 WebSearch can't. **Never guess**\\n</note>"
	got := []byte(text)
	rewriteText(got)
	for _, kept := range []string{
		"<note>\\n# ", "\\n\\n- ", "`read_file`", " \\\"", "\\\"; ", "2,000", "\\n\\t", "/home/user/x.txt \\u2014 WebSearch", "**\\n</note>",
	} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%s is missing: %s", kept, got)
		}
	}
	for _, word := range []string{"Reading", "Use", "tool", "NOT", "cat", "takes", "lines", "max", "See", "can't", "Never", "guess"} {
		if strings.Contains(string(got), word) {
			t.Errorf("%s has not been replaced: %s", word, got)
		}
	}
	again := bytes.Clone(got)
	if rewriteText(again); len(got) != len(text) || !bytes.Equal(again, got) || !json.Valid([]byte(`"`+string(got)+`"`)) {
		t.Errorf("%s\nagain %s", got, again)
	}
}

func TestLettersOfOtherScriptsAreReplaced(t *testing.T) {
	got := []byte("“결제 모듈” x 支払い Оплата — é")
	rewriteLetters(got)
	if want := "“바다 하늘” x 木火さ релодк — é"; string(got) != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestNamesAndWordsOfTheProjectStay(t *testing.T) {
	const mine = `"messages":[{"role":"user","content":"TASK one: write a file, and read it."},` +
		`{"role":"assistant","content":"I will write it."},` +
		`{"type":"function_call","arguments":"{\"description\":\"Show the file\"}"}],` +
		`"schema":{"enum":["very high","low"],"const":"one of two"},` +
		`"tool":{"name":"read","description":"Notes"},"system":"x-anthropic-billing-header: cc_version=2.1;"`
	capture := []byte(`{"client":"An Agent","headers":{"user-agent":"a client of mine"},"body":{` + mine + `}}`)
	want := string(capture)
	if err := rewrite(capture); err != nil || string(capture) != want {
		t.Errorf("%v: %s", err, capture)
	}
	const ids = `{"id":"%[1]s","again":["%[1]s"],"device":"%[2]s"}`
	capture = fmt.Appendf(nil, ids, "8d0f3a52-1c2b-4d5e-8f90-a1b2c3d4e5f6", strings.Repeat("a1", 32))
	want = fmt.Sprintf(ids, "00000000-0000-4000-8000-000000000001", strings.Repeat("0", 64))
	if err := rewrite(capture); err != nil || string(capture) != want {
		t.Errorf("%v: %s", err, capture)
	}
	for _, broken := range []string{``, `{"a":`, `{"a":"b"} x`} {
		if rewrite([]byte(broken)) == nil {
			t.Errorf("%s is no capture", broken)
		}
	}
}
