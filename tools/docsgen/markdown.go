package main

import (
	"bytes"
	"errors"
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
	"github.com/yuin/goldmark/text"
)

// heading is one of the second level, which the list of guides shows below its page.
type heading struct{ ID, Text string }

// markdown is what a document has.
type markdown struct {
	Title    string
	Headings []heading
	HTML     template.HTML
	pictures []string // paths from the folder of documents
	ids      map[string]bool
}

// readGuide makes HTML of a document. Links to other documents lead to their pages; links to
// files that the binary does not have become plain text.
func readGuide(source []byte) (markdown, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	root := md.Parser().Parse(text.NewReader(source))
	var nodes []ast.Node // before any of them is replaced
	errs := []error{ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			nodes = append(nodes, n)
		}
		return ast.WalkContinue, nil
	})}
	result := markdown{ids: map[string]bool{}}
	for _, n := range nodes {
		errs = append(errs, result.change(n, source))
	}
	var b bytes.Buffer
	errs = append(errs, md.Renderer().Render(&b, source, root))
	result.HTML = template.HTML(b.String()) // goldmark escapes all text, and HTML of the source is refused
	return result, errors.Join(errs...)
}

// change notes what the page needs of a part of a document, and gives it the form that it has there.
func (m *markdown) change(n ast.Node, source []byte) error {
	parent := n.Parent()
	switch n := n.(type) {
	case *ast.HTMLBlock:
		parent.RemoveChild(parent, n)
		return comment(n.Lines().Value(source))
	case *ast.RawHTML:
		parent.RemoveChild(parent, n)
		return comment(n.Segments.Value(source))
	case *ast.Heading:
		m.heading(n, string(n.Lines().Value(source)))
	case *ast.FencedCodeBlock: // the form that page.js gives a button to copy
		code := strings.TrimSuffix(string(n.Lines().Value(source)), "\n")
		parent.ReplaceChild(parent, n, html(`<div class="text"><pre tabindex="0">%s</pre></div>`+"\n", code))
	case *extast.Table: // a wide one scrolls on a small screen
		parent.InsertBefore(parent, n, html(`<div class="table" tabindex="0">`))
		parent.InsertAfter(parent, n, html("</div>\n"))
	case *ast.Image:
		var shown bytes.Buffer
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				shown.Write(t.Value(source))
			}
		}
		picture := html(`<span class="picture">Picture in the repository: %s</span>`, shown.String())
		if file := string(n.Destination); slices.Contains(pictures(), file) {
			m.pictures = append(m.pictures, file)
			picture = html(`<img src="%s" alt="%s" loading="lazy">`, path.Base(file), shown.String())
		}
		parent.ReplaceChild(parent, n, picture)
	case *ast.Link:
		n.Destination = []byte(address(string(n.Destination)))
		if len(n.Destination) > 0 {
			break
		}
		for n.FirstChild() != nil {
			parent.InsertBefore(parent, n, n.FirstChild())
		}
		parent.RemoveChild(parent, n)
	}
	return nil
}

// html is HTML with texts in it.
func html(format string, texts ...string) *ast.String {
	var escaped []any
	for _, t := range texts {
		escaped = append(escaped, template.HTMLEscapeString(t))
	}
	s := ast.NewString(fmt.Appendf(nil, format, escaped...))
	s.SetCode(true)
	return s
}

// comment refuses HTML, which the page would lack. Comments, which mark generated parts, are left out.
func comment(written []byte) error {
	if !bytes.HasPrefix(written, []byte("<!--")) {
		return fmt.Errorf("HTML is not supported: %s", written)
	}
	return nil
}

// heading gives a heading the ID that GitHub gives it, so that links to headings work there and here.
func (m *markdown) heading(n *ast.Heading, title string) {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		default:
			return -1
		}
	}, strings.TrimSpace(title))
	id := plain
	for i := 1; m.ids[id]; i++ {
		id = plain + "-" + strconv.Itoa(i)
	}
	m.ids[id] = true
	n.SetAttributeString("id", []byte(id))
	title = strings.ReplaceAll(title, "`", "")
	if n.Level == 1 {
		m.Title = title
		return
	}
	n.AppendChild(n, html(`<a class="here" href="#%s" aria-label="Link to this section">#</a>`, id))
	if n.Level == 2 {
		m.Headings = append(m.Headings, heading{id, title})
	}
}

// pictures are those that the binary has. The others, 300 KB, would take more than all pages together:
// in their place stands what they show.
func pictures() []string {
	return []string{"images/console-usage.png", "images/console-phone.png"}
}

// address is where a link of a document leads from its page; empty: nowhere.
func address(link string) string {
	const apiDocument = "../web/openapi.yaml"
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
