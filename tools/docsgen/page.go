package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

// baseURL stands for the address of the gateway. The gateway replaces it when it
// serves the page (web.Docs), because only then is the address known.
const baseURL = "{PUBLIC_URL}"

//go:embed page.html
var pageTemplate string

// render makes the page of an OpenAPI document. It loads web/docs/page.css and web/docs/page.js,
// which lie at the same addresses below the gateway's, and works without the latter.
func render(text []byte) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"prose": prose, "guides": guideGroups, "operations": operations, "response": newResponse,
		"field": func(schema *node) field { return newField("", false, schema) },
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, root); err != nil {
		return nil, fmt.Errorf("execute template: %w", err)
	}
	return b.Bytes(), root.doc.err
}
