// Package web holds what the gateway shows of itself: its OpenAPI document, the page
// made of it, the guides of docs, the console, and the pages of links.
package web

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"html"
	"strings"
)

//go:embed openapi.yaml
var document string

// page is docs.html, compressed: 30 KiB instead of 430.
//
//go:embed docs.html.gz
var page string

// DocsStyle and DocsScript are what the page loads, from /docs/page.css and /docs/page.js.
var (
	//go:embed docs/page.css
	DocsStyle string
	//go:embed docs/page.js
	DocsScript string
)

// baseURL stands in the page for the address of the gateway.
const baseURL = "{PUBLIC_URL}"

// OpenAPI is the OpenAPI 3.1 document of every endpoint, in YAML
// (application/yaml). It takes no memory: it is a part of the binary.
func OpenAPI() string { return document }

// Docs is the page that describes the API, with calls to the gateway at base.
// It loads DocsStyle and DocsScript and nothing else, and works without the script.
func Docs(base string) (*File, error) {
	text, err := decompress([]byte(page))
	if err != nil {
		return nil, err
	}
	base = html.EscapeString(strings.TrimSuffix(base, "/"))
	text = bytes.ReplaceAll(text, []byte(baseURL), []byte(base))
	return &File{
		Type: types[".html"], ETag: tag(text), Gzip: compress(text, gzip.NewWriter(nil)), text: func() ([]byte, error) { return text, nil },
	}, nil
}
