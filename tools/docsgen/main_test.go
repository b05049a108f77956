package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPageIsGeneratedFromTheDocument compares the text and not the compressed
// bytes, which may differ from one release of Go to the next.
func TestPageIsGeneratedFromTheDocument(t *testing.T) {
	want, err := render(read(t, "../../web/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{
		"docs.html":    read(t, "../../web/docs.html"),
		"docs.html.gz": decompressed(t, read(t, "../../web/docs.html.gz")),
	} {
		if !bytes.Equal(got, want) {
			t.Errorf("web/%s is out of date: run make docs", name)
		}
	}
}

func decompressed(t *testing.T, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPageHasNothingInlineAndLoadsItsOwnFilesAlone(t *testing.T) {
	page := read(t, "../../web/docs.html")
	for _, pattern := range []string{
		`<style`, `<script[^>]*>[^<]`, `<iframe`, `<img`, `<form`, ` on[a-z]+="`, ` style="`, `@import`, `url\(`, `javascript:`,
	} {
		if found := regexp.MustCompile(pattern).Find(page); found != nil {
			t.Errorf("the page has %s", found)
		}
	}
	for _, loaded := range regexp.MustCompile(`(?:<link [^>]*href| src)="([^"]*)"`).FindAllSubmatch(page, -1) {
		if name := string(loaded[1]); !strings.HasPrefix(name, "data:") {
			read(t, "../../web", name)
		}
	}
}

func TestLinksOfThePageLeadToASection(t *testing.T) {
	page := string(read(t, "../../web/docs.html"))
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("two sections are called %s", id[1])
		}
		ids[id[1]] = true
	}
	links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		if !ids[link[1]] {
			t.Errorf("there is no section %s", link[1])
		}
	}
	if len(ids) < 20 || len(links) < 20 {
		t.Errorf("only %d sections and %d links were found", len(ids), len(links))
	}
}

const document = `
info: {title: 'A & B', description: "One & two.\n\n- Two ` + "`<c>`" + `\n- **Three**"}
tags: [{name: Things}]
paths:
  /things/{id}:
    post:
      tags: [Things]
      operationId: addThing
      security: [{bearer: []}]
      parameters:
        - {name: id, in: path, example: t1, schema: {type: string}}
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Thing'}
            examples: {one: {summary: One, value: &value {zebra: "it's", ant: 1.50, none: null, yes: true}}}
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}, examples: {one: {value: *value}}}}}}
    delete: {tags: [Things], security: [{}, {bearer: []}], operationId: removeThing}
components:
  responses: {RouteNotFound: {}, MethodNotAllowed: {}}
  schemas:
    Error: {}
    Thing:
      type: object
      required: [zebra]
      properties:
        zebra: {type: [string, "null"], enum: [b, a, null]}
        ant: {$ref: '#/components/schemas/Count', description: Of legs.}
    Count: {type: integer, maximum: 6, minimum: 2, description: A count.}
`

func TestRenderKeepsTheOrderAndTheTextOfTheDocument(t *testing.T) {
	page, err := render([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(page)
	for _, want := range []string{
		`<title>A &amp; B</title>`, "<p>One &amp; two.</p>\n<ul>\n<li>Two <code>&lt;c&gt;</code></li>\n<li><strong>Three</strong></li>\n</ul>",
		`<article id="addThing">`, `string, in path`,
		`<code class="name">zebra</code><span class="type">string or null</span><span class="required">required</span>`, `<code>b</code><code>a</code>`,
		`<code class="name">ant</code><span class="type">integer</span><span class="limit">2 to 6</span>`, `<p>Of legs.</p>`,
		"curl {PUBLIC_URL}/things/t1 \\\n  -H &#34;Authorization: Bearer $TOKEN&#34; \\\n", `-d &#39;{&#34;zebra&#34;: &#34;it&#39;\&#39;&#39;s&#34;, &#34;ant&#34;: 1.50, &#34;none&#34;: null, &#34;yes&#34;: true}&#39;</pre>`,
		"requests.post(\n    &#34;{PUBLIC_URL}/things/t1&#34;,\n", `json={&#34;zebra&#34;: &#34;it&#39;s&#34;, &#34;ant&#34;: 1.50, &#34;none&#34;: None, &#34;yes&#34;: True},`,
		"fetch(&#34;{PUBLIC_URL}/things/t1&#34;, {\n  method: &#34;POST&#34;,\n", `body: JSON.stringify({&#34;zebra&#34;: &#34;it&#39;s&#34;`,
		`<pre tabindex="0">{&#34;zebra&#34;: &#34;it&#39;s&#34;, &#34;ant&#34;: 1.50, &#34;none&#34;: null, &#34;yes&#34;: true}</pre>`,
		`<article id="removeThing">`, `curl -X DELETE {PUBLIC_URL}/things/{id}</pre>`, `requests.delete(&#34;{PUBLIC_URL}/things/{id}&#34;)`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the page lacks %s, or has it elsewhere, in %s", want, rest)
		}
		rest = after
	}
}

func TestRenderRefusesABrokenDocument(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`schemas/Count'`, `schemas/Cuont'`, "is not in the document"},
		{`'#/components/schemas/Count'`, `'other.yaml'`, "does not point into the document"},
		{`"200"`, `default`, "is not a number"},
		{`[Things]`, `[Things`, "parse document"},
		{`One & two`, `One <b>two</b>`, "HTML is not supported"},
		{`it's`, `it\uD800s`, "parse document"},
	} {
		if _, err := render([]byte(strings.Replace(document, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := render(nil); err == nil {
		t.Error("an empty document makes a page")
	}
}
