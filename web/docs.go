package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

type page struct {
	Title, Summary string
	Intro          template.HTML
	Base           string
	Groups         []group
	Error          field
	Everywhere     []response
	Credentials    []field
	Style          template.CSS
	Policy         string
}

type group struct {
	Name       string
	Text       template.HTML
	Operations []operation
}

type operation struct {
	ID, Method, Path, Summary string
	Text                      template.HTML
	Open                      bool // it needs no credential, ever
	Params                    []field
	Body                      *field
	Calls                     []example
	Responses                 []response
}

type response struct {
	Status, Reason string
	Failed         bool
	Text           template.HTML
	Codes          []string
	Headers        []field
	Content        []content
}

type content struct {
	Type     string
	Schema   field
	Event    *field
	Failure  *field
	Examples []example
}

type example struct{ Name, Text string }

// Docs renders the OpenAPI document as one page that has no script and loads
// nothing, and says so in a policy of its own. base is the address of this
// gateway that the calls on the page are shown with.
func Docs(base string) ([]byte, error) {
	src, err := parse(OpenAPI())
	if err != nil {
		return nil, err
	}
	p := newPage(node{src: src, value: src.root}, strings.TrimSuffix(base, "/"))
	if src.err != nil {
		return nil, src.err
	}
	t, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	return b.Bytes(), nil
}

func newPage(root node, base string) *page {
	info, components := root.get("info"), root.get("components")
	sum := sha256.Sum256([]byte(docsStyle))
	p := &page{
		Title: info.get("title").text(), Summary: info.get("summary").text(),
		Intro: prose(info.get("description").text()),
		Base:  base,
		Error: newField("", false, components.get("schemas").get("Error")),
		Style: template.CSS(docsStyle),
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
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
		p.Groups = append(p.Groups, newGroup(tag, root.get("paths"), base))
	}
	return p
}

func newGroup(tag, paths node, base string) group {
	g := group{Name: tag.get("name").text(), Text: prose(tag.get("description").text())}
	for path, item := range paths.members() {
		for method, op := range item.members() {
			if op.get("tags").items()[0].text() == g.Name {
				g.Operations = append(g.Operations, newOperation(strings.ToUpper(method), path, base, op))
			}
		}
	}
	return g
}

func newOperation(method, path, base string, n node) operation {
	op := operation{
		ID: n.get("operationId").text(), Method: method, Path: path,
		Summary: n.get("summary").text(), Text: prose(n.get("description").text()),
		Open: n.get("security").exists() && len(n.get("security").items()) == 0,
	}
	target := base + path
	for _, param := range n.get("parameters").items() {
		f := parameter(param.get("name").text(), param)
		f.Type += ", in " + param.get("in").text()
		op.Params = append(op.Params, f)
		if value := param.get("example"); value.exists() {
			target = strings.ReplaceAll(target, "{"+f.Name+"}", value.text())
		}
	}
	body := n.get("requestBody").get("content").get("application/json")
	if !body.exists() {
		op.Calls = []example{{"Call", "curl " + target}}
	} else {
		f := newField("", true, body.get("schema"))
		op.Body = &f
	}
	for _, e := range body.get("examples").members() {
		op.Calls = append(op.Calls, example{e.get("summary").text(), curl(target, e.get("value"))})
	}
	for status, r := range n.get("responses").members() {
		op.Responses = append(op.Responses, newResponse(status, r))
	}
	return op
}

func curl(target string, body node) string {
	flags := ""
	if body.get("stream").isTrue() {
		flags = "-N "
	}
	text := strings.ReplaceAll(body.pretty("  "), "'", `'\''`)
	return "curl " + flags + target + " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + text + "'"
}

// parameter is a header or parameter: its schema, with the words and the
// example it has of its own.
func parameter(name string, n node) field {
	f := newField(name, n.get("required").isTrue(), n.get("schema"))
	if text := n.get("description").text(); text != "" {
		f.Text = prose(text)
	}
	if v := n.get("example"); v.exists() {
		f.Limits = append(f.Limits, "e.g. "+v.text())
	}
	return f
}

func newResponse(status string, n node) response {
	code, err := strconv.Atoi(status)
	if err != nil {
		n.src.fail("status %q is not a number", status)
	}
	r := response{
		Status: status, Reason: http.StatusText(code), Failed: code >= http.StatusBadRequest,
		Text: prose(n.get("description").text()),
	}
	for name, h := range n.get("headers").members() {
		r.Headers = append(r.Headers, parameter(name, h))
	}
	for name, m := range n.get("content").members() {
		c := newContent(name, m)
		r.Codes = codes(c.Schema)
		r.Content = append(r.Content, c)
	}
	return r
}

// codes is the error codes of a body that is the error shape.
func codes(body field) []string {
	for _, f := range body.Fields {
		if f.Name == "code" {
			return f.Values
		}
		if f.Name == "error" {
			return codes(f)
		}
	}
	return nil
}

func newContent(mediaType string, n node) content {
	c := content{Type: mediaType, Schema: newField("", false, n.get("schema"))}
	if s := n.get("x-event-schema"); s.exists() {
		f := newField(s.name, false, s)
		c.Event = &f
	}
	if s := n.get("x-error-event-schema"); s.exists() {
		f := newField(s.name, false, s)
		c.Failure = &f
	}
	for _, e := range n.get("examples").members() {
		text := e.get("value").text()
		if text == "" {
			text = e.get("value").pretty("")
		}
		c.Examples = append(c.Examples, example{e.get("summary").text(), strings.TrimSpace(text)})
	}
	return c
}
