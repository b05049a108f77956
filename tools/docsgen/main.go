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
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := errors.Join(generate("../web/openapi.yaml", "../web/docs.html"), writeGuides("../docs", "../web/guides")); err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

// generate writes the page twice: as it is, to be read and compared, and
// compressed, to be embedded.
func generate(document, page string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	html, err := render(text)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	if err := os.WriteFile(page, html, 0o644); err != nil {
		return err
	}
	short, err := compress(html)
	if err != nil {
		return fmt.Errorf("compress page: %w", err)
	}
	return os.WriteFile(page+".gz", short, 0o644)
}

func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
