package main

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

type operation struct {
	ID, Method, Path, Summary string
	Text                      template.HTML
	Open                      bool // never needs a credential
	Params                    []field
	Body                      *field
	Calls                     []call
	Responses                 []response
}

type response struct {
	Status, Reason string
	Failed         bool
	Text           template.HTML
	Codes          []string // of errors, where the body is the error body
	Headers        []field
	Content        []content
}

// content is the body of a response in one media type.
type content struct {
	Type     string
	Schema   field
	Event    *field // the data of each event of a stream
	Failure  *field // the data of an event that reports an error
	Examples []example
}

type example struct{ Name, Text string }

func newOperation(method, path string, n node) operation {
	op := operation{
		ID: n.get("operationId").text(), Method: method, Path: path,
		Summary: n.get("summary").text(), Text: prose(n.get("description").text()),
		Open: n.get("security").exists() && len(n.get("security").items()) == 0,
	}
	c := command{method: method, target: baseURL + path, credential: needsCredential(n.get("security"))}
	for _, param := range n.get("parameters").items() {
		f := parameter(param.get("name").text(), param)
		f.Type += ", in " + param.get("in").text()
		op.Params = append(op.Params, f)
		if value := param.get("example"); value.exists() {
			c.target = strings.ReplaceAll(c.target, "{"+f.Name+"}", value.text())
		}
	}
	body := n.get("requestBody").get("content").get("application/json")
	if body.exists() {
		f := newField("", true, body.get("schema"))
		op.Body = &f
	}
	op.Calls = c.calls(body)
	for status, r := range n.get("responses").members() {
		op.Responses = append(op.Responses, newResponse(status, r))
	}
	return op
}

// needsCredential reports whether no alternative of a security requirement goes
// without a credential.
func needsCredential(security node) bool {
	all := security.items()
	for _, alternative := range all {
		if len(alternative.value.Content) == 0 {
			return false
		}
	}
	return len(all) > 0
}

// parameter is the field of a header or parameter. Its own description comes
// before that of its schema.
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

func newContent(mediaType string, n node) content {
	c := content{
		Type: mediaType, Schema: newField("", false, n.get("schema")),
		Event: eventField(n.get("x-event-schema")), Failure: eventField(n.get("x-error-event-schema")),
	}
	for _, e := range n.get("examples").members() {
		text := e.get("value").text()
		if text == "" {
			text = e.get("value").pretty("", scalarJSON)
		}
		c.Examples = append(c.Examples, example{e.get("summary").text(), strings.TrimSpace(text)})
	}
	return c
}

// eventField is nil when the document has no schema of the event.
func eventField(schema node) *field {
	if !schema.exists() {
		return nil
	}
	f := newField(schema.name, false, schema)
	return &f
}
