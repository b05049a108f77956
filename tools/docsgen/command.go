package main

import (
	"net/http"
	"strings"
)

// command is a call of an operation, before its body is known.
type command struct {
	method, target string
	credential     bool
}

// call is an example of a call as a program.
type call struct{ Name, Curl, Python, JavaScript string }

// calls is a call for each example of the request body, one where there is no body.
func (c command) calls(body node) []call {
	if one := body.get("example"); one.exists() || !body.exists() {
		return []call{c.write("Call", one)}
	}
	var all []call
	for _, e := range body.get("examples").members() {
		all = append(all, c.write(e.get("summary").text(), e.get("value")))
	}
	return all
}

func (c command) write(name string, body node) call {
	return call{name, c.curl(body), c.python(body), c.javascript(body)}
}

func (c command) curl(body node) string {
	text, implied := "curl ", http.MethodGet
	if body.exists() {
		implied = http.MethodPost
	}
	if c.method != implied {
		text += "-X " + c.method + " "
	}
	if body.get("stream").isTrue() {
		text += "-N "
	}
	text += c.target
	const option = " \\\n  "
	if c.credential {
		text += option + `-H "Authorization: Bearer $TOKEN"`
	}
	if body.exists() {
		text += option + "-H 'Content-Type: application/json'" +
			option + "-d '" + strings.ReplaceAll(body.pretty("  ", scalarJSON), "'", `'\''`) + "'"
	}
	return text
}

// python calls with the library requests.
func (c command) python(body node) string {
	imports, args := "import requests\n\n", ""
	if c.credential {
		imports = "import os, requests\n\n"
		args += "    headers={\"Authorization\": \"Bearer \" + os.environ[\"TOKEN\"]},\n"
	}
	if body.exists() {
		args += "    json=" + body.pretty("    ", scalarPython) + ",\n"
	}
	show := "print(r.status_code, r.text)"
	if body.get("stream").isTrue() {
		args += "    stream=True,\n"
		show = "for line in r.iter_lines(decode_unicode=True):\n    print(line)"
	}
	target := `"` + c.target + `"`
	if args != "" {
		target = "\n    " + target + ",\n" + args
	}
	return imports + "r = requests." + strings.ToLower(c.method) + "(" + target + ")\n" + show
}

// javascript calls with fetch, in Node as a module.
func (c command) javascript(body node) string {
	var headers []string
	options := ""
	if c.method != http.MethodGet {
		options += "  method: \"" + c.method + "\",\n"
	}
	if c.credential {
		headers = append(headers, "Authorization: `Bearer ${process.env.TOKEN}`")
	}
	if body.exists() {
		headers = append(headers, `"Content-Type": "application/json"`)
	}
	if len(headers) > 0 {
		options += "  headers: { " + strings.Join(headers, ", ") + " },\n"
	}
	if body.exists() {
		options += "  body: JSON.stringify(" + body.pretty("  ", scalarJSON) + "),\n"
	}
	if options != "" {
		options = ", {\n" + options + "}"
	}
	show := "console.log(r.status, await r.text());"
	if body.get("stream").isTrue() {
		show = "for await (const text of r.body.pipeThrough(new TextDecoderStream())) process.stdout.write(text);"
	}
	return "const r = await fetch(\"" + c.target + "\"" + options + ");\n" + show
}
