package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"strings"
)

//go:embed link.html
var linkFrame string

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

// Page returns the HTML of the form. It is made without html/template, which calls methods
// by names that it reads at run time: with it in the program the linker keeps every method of
// every type (docs/adr/0122).
func (f Form) Page() []byte {
	var main strings.Builder
	writeHTML(&main, "<h1>{}</h1>\n", f.Title)
	if f.Text != "" {
		writeHTML(&main, `<p class="lead">{}</p>`+"\n", f.Text)
	}
	if f.Fault != "" {
		writeHTML(&main, `<p class="bad" role="alert">{}</p>`+"\n", f.Fault)
	}
	if f.Button != "" {
		f.writeInputs(&main)
	}
	if f.Done {
		main.WriteString(`<p><a class="button" href="../signin">Sign in</a></p>` + "\n")
	}
	frame := strings.NewReplacer("{TITLE}", html.EscapeString(f.Title), "{STYLE}", linkStyle, "{MAIN}", main.String())
	return []byte(frame.Replace(linkFrame))
}

func (f Form) writeInputs(w *strings.Builder) {
	w.WriteString(`<form method="post" action="link" autocomplete="on">` + "\n")
	writeHTML(w, `<input type="hidden" name="token" value="{}">`+"\n", f.Token)
	for _, field := range f.Fields {
		bounds := ""
		if field.Type == "password" {
			bounds = ` minlength="8" maxlength="72"`
		}
		writeHTML(w, `<div><label for="{}">{}</label>`+"\n"+
			`<input id="{}" name="{}" type="{}" autocomplete="{}" value="{}" required`+bounds+"></div>\n",
			field.Name, field.Label, field.Name, field.Name, field.Type, field.Autocomplete, field.Value)
	}
	writeHTML(w, `<button type="submit">{}</button>`+"\n</form>\n", f.Button)
}

// writeHTML writes text with each {} replaced by the next of the values, escaped for the text
// of an element and for an attribute in quotation marks: values stand in no other place.
func writeHTML(w *strings.Builder, text string, values ...string) {
	for _, value := range values {
		before, after, _ := strings.Cut(text, "{}")
		w.WriteString(before)
		w.WriteString(html.EscapeString(value))
		text = after
	}
	w.WriteString(text)
}

// FormPolicy is the Content-Security-Policy of the page of a Form.
func FormPolicy() string {
	sum := sha256.Sum256([]byte(linkStyle))
	return "default-src 'none'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
