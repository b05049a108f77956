package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"path"
	"sync"
)

//go:embed console
var console embed.FS

// ConsolePolicy is the Content-Security-Policy of the console: its own files only, nothing
// inline, and no frame around it.
const ConsolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ConsolePages are the addresses of the console's pages, as routes. All of them are the same
// document, whose script shows the page of its address.
func ConsolePages() []string {
	return []string{
		"/signin", "/keys", "/usage", "/calls", "/sessions", "/playground", "/models", "/account", "/device",
		"/users", "/teams", "/providers", "/alerts", "/statement", "/audit", "/settings",
		"/keys/:id", "/users/:id", "/teams/:id", "/models/*name", "/providers/:name",
	}
}

// ConsoleDocument is the name of the document of all pages.
const ConsoleDocument = "index.html"

// typeface is the media type of typefaces, which are compressed in themselves.
const typeface = "font/woff2"

// types are the media types of the console's files. The system's own table may lack them.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".woff2": typeface, ".txt": "text/plain; charset=utf-8",
}

// File is a file of the console, or a guide.
type File struct {
	Type string // media type
	ETag string // in quotation marks
	Gzip []byte // the text compressed; nil: it is only sent as it is

	text func() ([]byte, error)
}

// Text returns the text of the file. It is a copy: few clients ask for what is not
// compressed.
func (f *File) Text() ([]byte, error) { return f.text() }

// Files are the files that a browser loads. Each is compressed when it is first asked for.
type Files struct {
	mu      sync.Mutex
	known   map[string]*File
	writers sync.Pool // of *gzip.Writer: one has a megabyte, a page loads some fifty files, and the pool keeps none for long
}

// File returns a file by its path below web/console, such as lib/dom.js; nil: there is none.
func (f *Files) File(name string) *File {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.known[name]; ok {
		return known
	}
	file := f.read(name)
	if file == nil {
		return nil // not noted: there is no end of names that are none
	}
	if f.known == nil {
		f.known = map[string]*File{}
	}
	f.known[name] = file
	return file
}

func (f *Files) read(name string) *File {
	kind := types[path.Ext(name)]
	if kind == "" || !fs.ValidPath(name) {
		return nil
	}
	file := &File{Type: kind, text: func() ([]byte, error) { return console.ReadFile("console/" + name) }}
	text, err := file.Text()
	if err != nil {
		return nil
	}
	file.ETag = tag(text)
	if kind == typeface {
		return file
	}
	w, ok := f.writers.Get().(*gzip.Writer)
	if !ok {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestCompression) // fails for other levels only
	}
	file.Gzip = compress(text, w)
	f.writers.Put(w)
	return file
}

func compress(text []byte, w *gzip.Writer) []byte {
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write(text) // a buffer takes all
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}
