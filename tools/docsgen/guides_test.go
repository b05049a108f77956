package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func guides(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := renderGuides("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGuidesAreGeneratedFromTheDocuments(t *testing.T) {
	files := guides(t)
	var want, got []string
	for name, text := range files {
		file := filepath.Join("../../web/guides", name)
		var have []byte
		if strings.HasSuffix(name, ".html") {
			name, file = name+".gz", file+".gz"
			have = decompressed(t, read(t, file))
		} else {
			have = read(t, file)
		}
		want = append(want, name)
		if !bytes.Equal(have, text) {
			t.Errorf("web/guides/%s is out of date: run make docs", name)
		}
	}
	found, err := os.ReadDir("../../web/guides")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		got = append(got, f.Name())
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("web/guides has %q, want %q: run make docs", got, want)
	}
}

// The bound is on what the binary holds: compressed pages, and pictures as they are.
func TestGuidesAreSmall(t *testing.T) {
	const most = 260 << 10
	found, err := os.ReadDir("../../web/guides")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, f := range found {
		size += len(read(t, "../../web/guides", f.Name()))
	}
	t.Logf("%d files, %d bytes", len(found), size)
	if size > most {
		t.Errorf("the guides take %d bytes, more than %d", size, most)
	}
}

func TestEveryDocumentIsAGuide(t *testing.T) {
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) < 20 {
		t.Fatal(found, err)
	}
	for _, file := range found {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); !isGuide(name) {
			t.Errorf("docs/%s.md is not in guideGroups", name)
		}
	}
}

func TestLinksOfTheGuidesLeadToASectionOrAFile(t *testing.T) {
	files := guides(t)
	ids := map[string]bool{}
	for name, text := range files {
		page := strings.TrimSuffix(name, ".html")
		ids[page] = true
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllSubmatch(text, -1) {
			at := page + "#" + string(id[1])
			if ids[at] {
				t.Errorf("two sections are %s", at)
			}
			ids[at] = true
		}
	}
	api := read(t, "../../web/docs.html")
	count := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, link := range regexp.MustCompile(` (?:href|src)="([^"]*)"`).FindAllSubmatch(files[name], -1) {
			to := string(link[1])
			count++
			switch {
			case strings.HasPrefix(to, "#"):
				to = strings.TrimSuffix(name, ".html") + to
			case slices.Contains([]string{"../", "page.css", "page.js", "guide.js"}, to),
				regexp.MustCompile(`^(https?|mailto|data):`).MatchString(to):
				continue
			case strings.HasPrefix(to, "../docs"):
				if _, fragment, found := strings.Cut(to, "#"); found && !bytes.Contains(api, []byte(` id="`+fragment+`"`)) {
					t.Errorf("%s: the API has no %s", name, fragment)
				}
				continue
			}
			if !ids[to] {
				t.Errorf("%s: nothing is at %s", name, to)
			}
		}
	}
	if count < 500 {
		t.Errorf("only %d links were found", count)
	}
}

// On GitHub and on a disk the same links lead to files.
func TestLinksOfTheDocumentsLeadToFiles(t *testing.T) {
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(found, "../../README.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`).FindAllSubmatch(read(t, file), -1) {
			to := string(link[1])
			if strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), to)); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
}

func TestGuidesHaveNothingInline(t *testing.T) {
	for name, text := range guides(t) {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, pattern := range []string{
			`<style`, `<script[^>]*>[^<]`, `<iframe`, `<form`, `<[^>]* on[a-z]+="`, `<[^>]* style="`, `href="javascript:`,
		} {
			if found := regexp.MustCompile(pattern).Find(text); found != nil {
				t.Errorf("%s has %s", name, found)
			}
		}
	}
}

func TestReadGuideWritesWhatADocumentHas(t *testing.T) {
	read, err := readGuide([]byte("# A `b` & c\n\n## Two words_here, 2!\n\n## Two words_here, 2!\n\n[one](spend.md#x) [two](adr/0001.md) " +
		"[three](../web/openapi.yaml#chat) [four](#here)\n\n![a & picture](images/none.png) ![b](images/console-phone.png)\n\n" +
		"```sh\necho \"<b>\" &\n```\n\n<!-- begin -->\n\n| a | b |\n|---|---|\n| `c` | d |\n"))
	if err != nil {
		t.Fatal(err)
	}
	if read.Title != "A b & c" || len(read.Headings) != 2 || read.Headings[1].ID != "two-words_here-2-1" {
		t.Errorf("%q %q", read.Title, read.Headings)
	}
	if !slices.Equal(read.pictures, []string{"images/console-phone.png"}) {
		t.Errorf("%q", read.pictures)
	}
	rest := string(read.HTML)
	for _, want := range []string{
		`<h2 id="two-words_here-2">`, `href="#two-words_here-2-1"`,
		`<a href="spend#x">one</a> two <a href="../docs#chat">three</a> <a href="#here">four</a>`,
		`a &amp; picture</span>`, `<img src="console-phone.png" alt="b"`, `<pre tabindex="0">echo &#34;&lt;b&gt;&#34; &amp;</pre>`,
		`<div class="table" tabindex="0"><table>`, `<td><code>c</code></td>`, "</table>\n</div>",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the page lacks %s, or has it elsewhere, in %s", want, rest)
		}
		rest = after
	}
	if strings.Contains(string(read.HTML), "begin") {
		t.Error("a comment is shown")
	}
	for _, html := range []string{"<script>alert(1)</script>\n", "a <b>c</b>\n"} {
		if _, err := readGuide([]byte("# A\n\n" + html)); err == nil {
			t.Errorf("%s is accepted", html)
		}
	}
}
