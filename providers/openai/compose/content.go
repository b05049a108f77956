package compose

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// mostBreakpoints is how many marks a request may have.
const mostBreakpoints = 4

// Breakpoint marks the end of what is to be cached; nil where the model takes no mark or no
// further one.
func (c *Draft) Breakpoint() *Breakpoint {
	if !c.Model.Traits.CacheBreakpoints || c.breakpoints == mostBreakpoints {
		return nil
	}
	c.breakpoints++
	return &Breakpoint{Mode: "explicit"}
}

// IgnoreCache notes the cache mark of a block. That of the whole message is the
// mark of its last block as well.
func (c *Draft) IgnoreCache(b *llm.Block, whole jsontext.Value) {
	c.IgnoreIf(len(b.Cache) > 0 && (len(whole) == 0 || &b.Cache[0] != &whole[0]), llm.FieldPartCache)
}

// CheckMedia fails on what neither API can have.
func (c *Draft) CheckMedia(m *llm.Message, b *llm.Block) error {
	media := b.Media
	c.IgnoreIf(media.Citations, llm.FieldCitations)
	switch {
	case media.Text != "":
		return nil
	case m.Role == llm.RoleInstructions:
		return c.Unsupported(llm.FieldPartType, b.At, "the model %s accepts only text as instructions", c.Model.ID)
	case media.Kind == llm.SearchResult:
		return c.Unsupported(llm.FieldPartType, b.At, "the model %s accepts search results with a text only", c.Model.ID)
	case media.Kind != llm.Audio && media.URL == "" && media.Data == "":
		return c.Unsupported(llm.FieldFileID, b.At,
			"the model %s cannot reach files by the ids of another API: send the file itself", c.Model.ID)
	}
	return nil
}

// FileOf is a file by its data.
func FileOf(m *llm.Media) *File {
	data := m.URL
	if data == "" {
		data = "data:" + mediaType(m.Data) + ";base64," + m.Data
	}
	name := cmp.Or(m.Name, m.Title)
	if name == "" && strings.HasPrefix(data, "data:application/pdf") {
		name = "document.pdf" // OpenAI wants a name
	}
	return &File{FileData: data, Filename: name}
}

// HasWebAddress says whether a medium stands at a web address.
func HasWebAddress(m *llm.Media) bool {
	return strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://")
}

// mediaType is that of data in base64, by its first bytes.
func mediaType(data string) string {
	const enough = 684 // base64 of the 512 bytes that are looked at, and whole groups of it
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), enough)])
	if err != nil {
		return "application/octet-stream"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}

// FailedText is the text of a result that is an error.
func FailedText(text string) string {
	const mark = "Error:"
	switch {
	case text == "":
		return mark
	case strings.HasPrefix(text, mark):
		return text
	}
	return mark + " " + text
}

// Breakpoint says that the prompt up to its part is to be cached.
type Breakpoint struct {
	Mode string `json:"mode"`
}

// File is a file by its data.
type File struct {
	FileData string `json:"file_data"`
	Filename string `json:"filename,omitempty"`
}
