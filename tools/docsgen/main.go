// Command docsgen writes the pages that the gateway serves at /docs and below: that of the
// OpenAPI document, and the guides of the folder docs. It is no part of the gateway, and runs in
// the folder tools.
//
// It reads YAML nodes and not the model of an OpenAPI library: the page shows
// members and examples in the order of the document, and numbers as they are
// written there. The models of libraries keep neither.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := write("../web"); err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

// write writes the pages compressed, to be embedded, and that of the document also as it is, to be read and compared. The folder
// of the guides has nothing else.
func write(web string) error {
	document, err := os.ReadFile(filepath.Join(web, "openapi.yaml"))
	if err != nil {
		return err
	}
	page, err := render(document)
	if err != nil {
		return err
	}
	guides, err := renderGuides("../docs")
	if err != nil {
		return err
	}
	files := map[string][]byte{"docs.html": page, "docs.html.gz": compress(page)}
	for name, text := range guides {
		if strings.HasSuffix(name, ".html") {
			name, text = name+".gz", compress(text)
		}
		files["guides/"+name] = text
	}
	if err := os.RemoveAll(filepath.Join(web, "guides")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(web, "guides"), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(web, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compress writes into memory, which never fails.
func compress(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}
