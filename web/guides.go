package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"path"
)

// guides are the pages of the folder docs of the repository, made ahead by tools/docsgen and
// compressed, and their pictures. The binary has no renderer.
//
//go:embed guides docs/guide.js
var guides embed.FS

// GuidePolicy is the Content-Security-Policy of a guide. Its search reads the other guides.
const GuidePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Guide returns what is at /docs/NAME: a guide, such as quick-start, or a file that guides load;
// nil: there is none.
func Guide(name string) *File {
	if name == "" || name != path.Base(name) {
		return nil
	}
	if short, err := guides.ReadFile("guides/" + name + ".html.gz"); err == nil {
		return &File{Type: types[".html"], ETag: tag(short), Gzip: short, text: func() ([]byte, error) { return decompress(short) }}
	}
	folder := "guides/"
	if name == "guide.js" {
		folder = "docs/"
	}
	kind := types[path.Ext(name)]
	text, err := guides.ReadFile(folder + name)
	if kind == "" || err != nil {
		return nil
	}
	return &File{Type: kind, ETag: tag(text), text: func() ([]byte, error) { return text, nil }}
}

// tag is the ETag of a file.
func tag(text []byte) string {
	sum := sha256.Sum256(text)
	const bytesOfTag = 12
	return `"` + hex.EncodeToString(sum[:bytesOfTag]) + `"`
}

func decompress(short []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(short))
	if err != nil {
		return nil, fmt.Errorf("open page: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompress page: %w", err)
	}
	return text, nil
}
