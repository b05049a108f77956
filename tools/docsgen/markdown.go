package main

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is one of the second level, which the list of guides shows below its page.
type heading struct{ ID, Text string }

// markdown is what a document has.
type markdown struct {
	title    string
	headings []heading
	pictures []string // paths from the folder of documents
	html     template.HTML
}

// readGuide makes HTML of a document. Links to other documents lead to their pages; links to
// files that the binary does not have become plain text.
func readGuide(source []byte) (*markdown, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 100))),
	)
	ids := &headingIDs{used: map[string]bool{}}
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	result := &markdown{}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		result.note(n, source)
		return ast.WalkContinue, checkHTML(n, source)
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, root); err != nil {
		return nil, err
	}
	result.html = template.HTML(b.String()) // goldmark escapes all text, and leaves out HTML of the source
	return result, nil
}

// checkHTML refuses HTML, which the page would lack. Comments, which mark generated parts, are left out.
func checkHTML(n ast.Node, source []byte) error {
	written := ""
	switch n := n.(type) {
	case *ast.HTMLBlock:
		written = string(n.Lines().Value(source))
	case *ast.RawHTML:
		written = string(n.Segments.Value(source))
	}
	if written == "" || strings.HasPrefix(written, "<!--") {
		return nil
	}
	return fmt.Errorf("HTML is not supported: %s", written)
}

func (m *markdown) note(n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		title := string(n.Lines().Value(source))
		title = strings.ReplaceAll(title, "`", "")
		if n.Level == 1 {
			m.title = title
		}
		if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
			m.headings = append(m.headings, heading{string(id.([]byte)), title})
		}
	case *ast.Image:
		if !slices.Contains(pictures(), string(n.Destination)) {
			n.Destination = nil
			return
		}
		m.pictures = append(m.pictures, string(n.Destination))
		n.Destination = []byte(path.Base(string(n.Destination)))
	case *ast.Link:
		n.Destination = []byte(address(string(n.Destination)))
	}
}

// pictures are those that the binary has. The others, 300 KB, would take more than all pages together:
// in their place stands what they show.
func pictures() []string {
	return []string{"images/console-usage.png", "images/console-phone.png"}
}

// apiDocument is the path of the API's description from the folder of documents.
const apiDocument = "../web/openapi.yaml"

// address is where a link of a document leads from its page; empty: nowhere.
func address(link string) string {
	file, fragment, _ := strings.Cut(link, "#")
	name := strings.TrimSuffix(file, ".md")
	switch {
	case file == "" || strings.Contains(link, "://"):
		return link
	case file == apiDocument:
		name = "../docs"
	case name == file || !isGuide(name):
		return ""
	}
	if fragment != "" {
		name += "#" + fragment
	}
	return name
}

// headingIDs are made as GitHub makes them, so that links to headings work there and here.
type headingIDs struct{ used map[string]bool }

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		default:
			return -1
		}
	}, strings.TrimSpace(string(value)))
	id := plain
	for i := 1; h.used[id]; i++ {
		id = plain + "-" + strconv.Itoa(i)
	}
	h.used[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put(value []byte) { h.used[string(value)] = true }

// nodes writes what the page has otherwise than goldmark.
type nodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, writeHeading)
	r.Register(ast.KindFencedCodeBlock, writeCode)
	r.Register(ast.KindLink, writeLink)
	r.Register(ast.KindImage, writeImage)
	r.Register(ast.KindHTMLBlock, skip)
	r.Register(ast.KindRawHTML, skip)
	r.Register(extast.KindTable, writeTable)
}

func skip(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func writeHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	level := strconv.Itoa(h.Level)
	value, _ := h.AttributeString("id")
	id := template.HTMLEscapeString(string(value.([]byte)))
	if entering {
		_, err := w.WriteString("<h" + level + ` id="` + id + `">`)
		return ast.WalkContinue, err
	}
	if h.Level > 1 {
		if _, err := w.WriteString(`<a class="here" href="#` + id + `" aria-label="Link to this section">#</a>`); err != nil {
			return ast.WalkStop, err
		}
	}
	_, err := w.WriteString("</h" + level + ">\n")
	return ast.WalkContinue, err
}

// writeCode has the form that page.js gives a button to copy.
func writeCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code := strings.TrimSuffix(string(n.Lines().Value(source)), "\n")
	_, err := w.WriteString(`<div class="text"><pre tabindex="0">` + template.HTMLEscapeString(code) + "</pre></div>\n")
	return ast.WalkSkipChildren, err
}

func writeLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link := n.(*ast.Link)
	if len(link.Destination) == 0 {
		return ast.WalkContinue, nil
	}
	before := "</a>"
	if entering {
		before = `<a href="` + template.HTMLEscapeString(string(util.URLEscape(link.Destination, true))) + `">`
	}
	_, err := w.WriteString(before)
	return ast.WalkContinue, err
}

// writeTable lets a wide table scroll on a small screen.
func writeTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	part := "</table></div>\n"
	if entering {
		part = `<div class="table" tabindex="0"><table>` + "\n"
	}
	_, err := w.WriteString(part)
	return ast.WalkContinue, err
}

func writeImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	image := n.(*ast.Image)
	var shown strings.Builder
	for c := image.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			shown.Write(t.Value(source))
		}
	}
	alt := template.HTMLEscapeString(shown.String())
	element := `<span class="picture">Picture in the repository: ` + alt + "</span>"
	if len(image.Destination) > 0 {
		element = `<img src="` + template.HTMLEscapeString(string(image.Destination)) + `" alt="` + alt + `" loading="lazy">`
	}
	_, err := w.WriteString(element)
	return ast.WalkSkipChildren, err
}
