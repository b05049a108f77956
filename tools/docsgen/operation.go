package main

import (
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
)

// operation is one of the document; the template reads the rest of it from the node.
type operation struct {
	*node
	Method, Path string
	Params       []field
	Body         *field
	Calls        []call
	Responses    []response
}

type response struct {
	*node
	Status, Reason string
	Failed         bool
	Codes          []string // of errors, where the body is the error body
	Headers        []field
	Content        []content
}

// content is the body of a response in one media type.
type content struct {
	Type     string
	Schema   field
	Events   []field // the data of each event of a stream, and of one that reports an error
	Examples []call
}

// operations are those of a tag.
func operations(paths *node, tag string) (all []operation) {
	for path, item := range paths.Members() {
		for method, op := range item.Members() {
			if slices.Contains(op.Get("tags").texts(), tag) {
				all = append(all, newOperation(strings.ToUpper(method), path, op))
			}
		}
	}
	return all
}

// Open says that an operation never needs a credential.
func (o operation) Open() bool {
	return o.Get("security") != nil && len(o.Get("security").items()) == 0
}

func newOperation(method, path string, n *node) operation {
	op := operation{node: n, Method: method, Path: path}
	target := baseURL + path
	for _, param := range n.Get("parameters").Members() {
		f := parameter(param.Get("name").Text(), param)
		f.Type += ", in " + param.Get("in").Text()
		op.Params = append(op.Params, f)
		if value := param.Get("example"); value != nil {
			target = strings.ReplaceAll(target, "{"+f.Name+"}", value.Text())
		}
	}
	body := n.Get("requestBody", "content", "application/json")
	if body != nil {
		op.Body = new(newField("", true, body.Get("schema")))
	}
	needs := n.Get("security").items()
	free := slices.ContainsFunc(needs, func(one *node) bool { return len(one.Content) == 0 }) // one of the alternatives needs nothing
	add := func(name string, example *node) {
		op.Calls = append(op.Calls, call{Name: name, Method: method, Target: target, Credential: len(needs) > 0 && !free, Body: example})
	}
	if example := body.Get("example"); example != nil || body == nil {
		add("Call", example)
	}
	for _, e := range body.Get("examples").Members() {
		add(e.Get("summary").Text(), e.Get("value"))
	}
	for status, r := range n.Get("responses").Members() {
		op.Responses = append(op.Responses, newResponse(status, r))
	}
	return op
}

// parameter is the field of a header or parameter.
func parameter(name string, n *node) field {
	f := newField(name, n.Get("required").Text() == "true", n.Get("schema"))
	f.Own = n
	return f
}

func newResponse(status string, n *node) response {
	code, err := strconv.Atoi(status)
	if err != nil {
		n.doc.fail("status %q is not a number", status)
	}
	r := response{node: n, Status: status, Reason: http.StatusText(code), Failed: code >= http.StatusBadRequest}
	for name, h := range n.Get("headers").Members() {
		r.Headers = append(r.Headers, parameter(name, h))
	}
	for name, m := range n.Get("content").Members() {
		c := content{Type: name, Schema: newField("", false, m.Get("schema"))}
		for _, member := range []string{"x-event-schema", "x-error-event-schema"} {
			if schema := m.Get(member); schema != nil {
				c.Events = append(c.Events, newField(schema.name, false, schema))
			}
		}
		for _, e := range m.Get("examples").Members() {
			c.Examples = append(c.Examples, call{Name: e.Get("summary").Text(), Body: e.Get("value")})
		}
		r.Codes = errorCodes(c.Schema)
		r.Content = append(r.Content, c)
	}
	return r
}

// errorCodes is the values of error.code, none when the body is not the error
// body.
func errorCodes(body field) []string {
	for _, f := range body.Fields {
		if f.Name == "code" {
			return f.Values
		}
		if f.Name == "error" {
			return errorCodes(f)
		}
	}
	return nil
}

// call is an example of a call, or of a body alone.
type call struct {
	Name, Method, Target string
	Credential           bool
	Body                 *node
}

//go:embed calls.txt
var callTemplates string

// In is the call as a program in a language.
func (c call) In(language string) (string, error) {
	t, err := texttemplate.New("calls").Parse(callTemplates)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.ExecuteTemplate(&b, language, c)
	return b.String(), err
}

// Stream says whether the answer is a stream.
func (c call) Stream() bool { return c.Body.Get("stream").Text() == "true" }

// Lower is the method as Python's requests calls it.
func (c call) Lower() string { return strings.ToLower(c.Method) }

// Quoted is the body between single quotes of a shell.
func (c call) Quoted() string { return strings.ReplaceAll(c.Body.Literal("  ", false), "'", `'\''`) }

// Text is the body alone: text as it is, and JSON.
func (c call) Text() string {
	text := c.Body.Text()
	if text == "" {
		text = c.Body.Literal("", false)
	}
	return strings.TrimSpace(text)
}

// prose makes HTML of a description.
func prose(s string) (template.HTML, error) {
	read, err := readGuide([]byte(strings.TrimSpace(s)))
	return read.HTML, err
}
