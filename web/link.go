package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
)

//go:embed link.html
var linkTemplate string

//go:embed link.css
var linkStyle string

// Form is the page of a link that was mailed or handed over. It has no script and loads
// nothing. Without a Button it has no form.
type Form struct {
	Title  string
	Text   string
	Fault  string // why the form that was sent is refused; empty: it was not sent
	Token  string
	Fields []FormField
	Button string
	Done   bool // what the link is for was done; the page shows the way to the sign-in
}

// FormField is an input of a Form.
type FormField struct {
	Name, Label, Type, Autocomplete, Value string
}

// Page returns the HTML of the form.
func (f Form) Page() ([]byte, error) {
	t, err := template.New("link").Parse(linkTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Form
		Style template.CSS
	}{f, template.CSS(linkStyle)})
	if err != nil {
		return nil, fmt.Errorf("execute template: %w", err)
	}
	return b.Bytes(), nil
}

// FormPolicy is the Content-Security-Policy of the page of a Form.
func FormPolicy() string {
	sum := sha256.Sum256([]byte(linkStyle))
	return "default-src 'none'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
