package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// baseURL stands for the address of the gateway. The gateway replaces it when it
// serves the page (web.Docs), because only then is the address known.
const baseURL = "{PUBLIC_URL}"

//go:embed page.html
var pageTemplate string

// page is what the template shows.
type page struct {
	Title, Summary string
	Intro          template.HTML
	Base           string
	Groups         []group
	Error          field
	Everywhere     []response
	Credentials    []field
	Languages      []language // of the examples
	Guides         []guideGroup
}

// language is one that the calls are written in.
type language struct {
	ID, Name string
	First    bool // the one that is shown before another is chosen
}

// group is the operations of one tag.
type group struct {
	Name       string
	Text       template.HTML
	Operations []operation
}

// render makes the page of an OpenAPI document. It loads web/docs/page.css and web/docs/page.js,
// which lie at the same addresses below the gateway's, and works without the latter.
func render(document []byte) ([]byte, error) {
	src, err := parse(document)
	if err != nil {
		return nil, err
	}
	p := newPage(node{src: src, value: src.root})
	if src.err != nil {
		return nil, src.err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("execute template: %w", err)
	}
	return b.Bytes(), nil
}

func newPage(root node) *page {
	info, components := root.get("info"), root.get("components")
	p := &page{
		Title: info.get("title").text(), Summary: info.get("summary").text(),
		Intro:     prose(info.get("description").text()),
		Base:      baseURL,
		Error:     newField("", false, components.get("schemas").get("Error")),
		Guides:    guideGroups(),
		Languages: []language{{"curl", "curl", true}, {"python", "Python", false}, {"javascript", "JavaScript", false}},
	}
	responses := components.get("responses")
	p.Everywhere = []response{
		newResponse("404", responses.get("RouteNotFound")),
		newResponse("405", responses.get("MethodNotAllowed")),
	}
	for _, scheme := range components.get("securitySchemes").members() {
		name := "Authorization"
		if header := scheme.get("name").text(); header != "" {
			name = header
		}
		p.Credentials = append(p.Credentials, field{Name: name, Text: prose(scheme.get("description").text())})
	}
	for _, tag := range root.get("tags").items() {
		p.Groups = append(p.Groups, newGroup(tag, root.get("paths")))
	}
	return p
}

func newGroup(tag, paths node) group {
	g := group{Name: tag.get("name").text(), Text: prose(tag.get("description").text())}
	for path, item := range paths.members() {
		for method, op := range item.members() {
			if slices.Contains(op.get("tags").texts(), g.Name) {
				g.Operations = append(g.Operations, newOperation(strings.ToUpper(method), path, op))
			}
		}
	}
	return g
}
