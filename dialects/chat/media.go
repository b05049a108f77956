package chat

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Sound is the audio of an answer. In a stream the first fragment has all members, and
// the others only further Data.
type Sound struct {
	ID         string  `json:"id,omitempty"`
	Data       string  `json:"data"` // base64
	ExpiresAt  int64   `json:"expires_at,omitzero"`
	Transcript *string `json:"transcript,omitzero"`
	Format     string  `json:"format,omitempty"` // wav, mp3 or a media type
}

// newSound begins a sound. It expires at once: the gateway keeps none.
func newSound(m *llm.Media, created int64) *Sound {
	return &Sound{ID: llm.NewID("audio_"), Data: m.Data, ExpiresAt: max(created, 1), Transcript: new(string), Format: m.Format}
}

// soundCollector puts the fragments of a sound together.
type soundCollector struct {
	sound   *Sound
	decoded []byte
	several bool
}

func (s *soundCollector) add(m *llm.Media, created int64) {
	if s.sound == nil {
		s.sound = newSound(m, created)
		return
	}
	if !s.several {
		s.several, s.decoded = true, decodedSound(nil, s.sound.Data)
	}
	s.decoded = decodedSound(s.decoded, m.Data)
}

// decodedSound adds the bytes of a fragment, as far as they can be read.
func decodedSound(dst []byte, data string) []byte {
	dst, _ = base64.StdEncoding.AppendDecode(dst, []byte(data))
	return dst
}

// whole is the sound; nil where there is none.
func (s *soundCollector) whole() *Sound {
	if s.several {
		s.sound.Data = base64.StdEncoding.EncodeToString(s.decoded)
	}
	return s.sound
}

// madeFile is a file that a model made, in the form of a content part.
type madeFile struct {
	Index *int   `json:"index,omitzero"` // among those of the choice, in a stream only
	Type  string `json:"type"`           // file
	File  struct {
		FileData string `json:"file_data"` // a data URL
		Filename string `json:"filename,omitempty"`
	} `json:"file"`
}

func newMadeFile(m *llm.Media) madeFile {
	f := madeFile{Type: "file"}
	f.File.FileData, f.File.Filename = m.URL, m.Name
	if m.Kind == llm.Audio { // a second sound, of another format
		f.File.FileData = "data:" + soundType(m.Format) + ";base64," + m.Data
	}
	return f
}

func soundType(format string) string {
	if strings.Contains(format, "/") {
		return format
	}
	return "audio/" + format
}

func image(m *llm.Media) Image { return Image{Type: "image_url", ImageURL: ImageURL{URL: m.URL}} }

// appendJSON adds a member of any type to an object that is not closed yet.
func appendJSON(dst []byte, name string, value any) ([]byte, error) {
	text, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", name, err)
	}
	w := jsonbytes.Writer(dst)
	if len(w) == 0 {
		w = w.Object()
	}
	return w.JSON(name, text), nil
}

func (w *Writer) media(e *llm.Event) {
	c := w.choice(e.Choice)
	switch {
	case e.Media.Kind == llm.Image:
		made := image(e.Media)
		made.Extra = append(strconv.AppendInt([]byte(`{"index":`), int64(c.images), 10), '}') // among those of the choice
		c.images++
		w.out.Delta(e.Choice, Delta{Images: []Image{made}})
	case e.Media.Kind == llm.Audio && c.sound == "":
		c.sound = e.Media.Format
		w.extra(e.Choice, "audio", newSound(e.Media, e.Head.Created))
	case e.Media.Kind == llm.Audio && c.sound == e.Media.Format:
		w.extra(e.Choice, "audio", Sound{Data: e.Media.Data})
	default:
		file, at := newMadeFile(e.Media), c.files
		file.Index = &at
		c.files++
		w.extra(e.Choice, "files", []madeFile{file})
	}
}

// extra sends a member that Delta does not have.
func (w *Writer) extra(choice int, name string, value any) {
	text, err := appendJSON(nil, name, value)
	if err != nil {
		w.err = err
		return
	}
	w.out.Delta(choice, Delta{Extra: append(text, '}')})
}
