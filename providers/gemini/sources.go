package gemini

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// sources are what an answer cites. Metadata comes in any event, and may come again with
// more in it; what is in it already is not added twice.
type sources struct {
	searches int  // of the web; each event counts all up to there
	maps     bool // Google Maps was asked

	placed   []llm.Citation // of a piece of the text, in bytes
	unplaced []llm.Citation
	known    map[sourceKey]bool
}

type sourceKey struct {
	start, end        int
	url, title, quote string
}

func (s *sources) add(c llm.Citation) {
	key := sourceKey{c.Start, c.End, c.URL, c.Title, c.Quote}
	if s.known[key] || c.URL == "" && c.Title == "" && c.Quote == "" {
		return
	}
	if s.known == nil {
		s.known = map[sourceKey]bool{}
	}
	s.known[key] = true
	if c.End > c.Start {
		s.placed = append(s.placed, c)
	} else {
		c.Start, c.End = 0, 0
		s.unplaced = append(s.unplaced, c)
	}
}

// cited reads a CitationMetadata: texts that the model has recited.
func (s *sources) cited(metadata jsontext.Value) {
	if !holds(metadata) { // before the variables, which the decoder moves to the heap
		return
	}
	type source struct {
		Start count  `json:"startIndex"`
		End   count  `json:"endIndex"`
		URI   string `json:"uri"`
		Title string `json:"title"`
	}
	var from struct {
		Sources   []source `json:"citationSources"`
		Citations []source `json:"citations"` // of Vertex AI
	}
	if json.Unmarshal(metadata, &from, lenient) != nil {
		return
	}
	for _, c := range append(from.Sources, from.Citations...) {
		s.add(llm.Citation{Start: int(c.Start), End: int(c.End), URL: c.URI, Title: c.Title})
	}
}

// groundingMetadata says what Google's own tools have found, and what of the text it supports.
type groundingMetadata struct {
	Chunks []struct {
		Web       groundingSource `json:"web"`
		Maps      groundingSource `json:"maps"`
		Retrieved groundingSource `json:"retrievedContext"`
	} `json:"groundingChunks"`
	Supports []struct {
		Segment struct {
			Part  count `json:"partIndex"`
			Start count `json:"startIndex"` // bytes of the part; in a stream, of all its text
			End   count `json:"endIndex"`
		} `json:"segment"`
		Chunks []count `json:"groundingChunkIndices"`
	} `json:"groundingSupports"`
	Searches []jsontext.Value `json:"webSearchQueries"`
}

type groundingSource struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// grounded reads the groundingMetadata of a candidate; begun says whether some of its text
// came in earlier events.
func (s *sources) grounded(from *candidate, begun bool) {
	if !holds(from.GroundingMetadata) {
		return
	}
	var g groundingMetadata
	if json.Unmarshal(from.GroundingMetadata, &g, lenient) != nil {
		return
	}
	s.searches = max(s.searches, len(g.Searches))
	s.maps = s.maps || g.mapped()
	var starts []int
	if !begun {
		starts = from.starts()
	}
	for i := range g.Supports {
		segment, before := &g.Supports[i].Segment, 0
		if part := int(segment.Part); part < len(starts) {
			before = starts[part]
		}
		for _, at := range g.Supports[i].Chunks {
			if int(at) < len(g.Chunks) {
				s.add(g.source(int(at), before+int(segment.Start), before+int(segment.End)))
			}
		}
	}
	for i := range g.Chunks {
		s.add(g.source(i, 0, 0))
	}
}

// mapped says whether something is from Google Maps, which has a fee of its own.
func (g *groundingMetadata) mapped() bool {
	for i := range g.Chunks {
		if g.Chunks[i].Maps != (groundingSource{}) {
			return true
		}
	}
	return false
}

// source is a chunk as the source of a piece of the text.
func (g *groundingMetadata) source(at, start, end int) llm.Citation {
	chunk := &g.Chunks[at]
	from := &chunk.Web
	switch {
	case *from == groundingSource{} && chunk.Maps != groundingSource{}:
		from = &chunk.Maps
	case *from == groundingSource{}:
		from = &chunk.Retrieved
	}
	return llm.Citation{Start: start, End: end, URL: from.URI, Title: from.Title, Quote: from.Text}
}

// starts are the bytes of the answer's text before each part.
func (c *candidate) starts() []int {
	starts, n := make([]int, len(c.Content.Parts)), 0
	for i := range c.Content.Parts {
		starts[i] = n
		if p := &c.Content.Parts[i]; !p.Thought {
			n += len(p.Text)
		}
	}
	return starts
}

// holds says whether a value is an object with members.
func holds(value jsontext.Value) bool {
	return len(value) > len("{}") && value.Kind() == jsontext.KindBeginObject
}

// citations are the sources, with their places in characters of the text. Those without a
// place are left out where others have one.
func (s *sources) citations(text *written) []llm.Citation {
	if len(s.placed) == 0 {
		return s.unplaced
	}
	chars := text.counter()
	for i := range s.placed {
		c := &s.placed[i]
		c.Start, c.End = chars(c.Start), chars(c.End)
	}
	return s.placed
}

// written is the text of an answer, as far as it is needed to turn places in bytes into
// places in characters: of text in ASCII only the length.
type written struct {
	ascii int // bytes before rest
	rest  []byte
}

func (w *written) empty() bool { return w.ascii == 0 && len(w.rest) == 0 }

func (w *written) add(text string) {
	if len(w.rest) == 0 && isASCII(text) {
		w.ascii += len(text)
		return
	}
	w.rest = append(w.rest, text...)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// counter is a function that counts the characters before a byte of the text.
func (w *written) counter() func(at int) int {
	const step = 1 << 10
	var before []int // each step-th byte of rest
	n := 0
	for i, b := range w.rest {
		if i%step == 0 {
			before = append(before, n)
		}
		if utf8.RuneStart(b) {
			n++
		}
	}
	before = append(before, n)
	return func(at int) int {
		if at <= w.ascii {
			return at
		}
		at = min(at-w.ascii, len(w.rest))
		n := before[at/step]
		for _, b := range w.rest[at/step*step : at] {
			if utf8.RuneStart(b) {
				n++
			}
		}
		return w.ascii + n
	}
}
