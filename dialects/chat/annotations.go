package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The types of an Annotation.
const (
	AnnotationURL  = "url_citation"
	AnnotationFile = "file_citation"
)

// Annotation is a source that an answer cites, an element of annotations. OpenAI has the
// type url_citation only; a source without an address has the other one.
type Annotation struct {
	Index        *int      `json:"index,omitzero"` // among those of the choice, in a stream only
	Type         string    `json:"type"`
	URLCitation  *Citation `json:"url_citation,omitzero"`
	FileCitation *Citation `json:"file_citation,omitzero"`
}

// Citation is a source. StartIndex and EndIndex are the piece of the content that it is
// cited for, in characters; both are 0 where the provider does not tell.
type Citation struct {
	StartIndex int            `json:"start_index"`
	EndIndex   int            `json:"end_index"`
	Title      string         `json:"title"`
	URL        string         `json:"url,omitempty"`
	Content    string         `json:"content,omitempty"` // what the source says, as OpenRouter has it
	Location   jsontext.Value `json:"location,omitzero"` // in a document, in the provider's JSON
}

func annotation(c *llm.Citation) Annotation {
	out := &Citation{StartIndex: c.Start, EndIndex: c.End, Title: c.Title, URL: c.URL, Content: c.Quote}
	if passes(c.Native) {
		out.Location = c.Native
	}
	if c.URL == "" {
		return Annotation{Type: AnnotationFile, FileCitation: out}
	}
	return Annotation{Type: AnnotationURL, URLCitation: out}
}

// annotations is the list of some citations. In a stream each has its index, the first one
// first: SDKs that put lists together need it.
func annotations(all []llm.Citation, first *int) []Annotation {
	list := make([]Annotation, len(all))
	for i := range all {
		list[i] = annotation(&all[i])
		if first != nil {
			at := *first + i
			list[i].Index = &at
		}
	}
	return list
}

// passes says whether a provider's JSON can be passed on as it is. One with a name twice or
// with invalid UTF-8 in it would make all of the answer unreadable for strict clients.
func passes(value jsontext.Value) bool { return llm.Given(value) && value.IsValid() }

// endingMembers are what a provider says of an ending, as an object of members that stand
// beside finish_reason; nil where it says nothing. Their names are OpenRouter's
// (native_finish_reason), vLLM's (stop_reason: the stop sequence that matched),
// Anthropic's (stop_details) and Gemini's.
func endingMembers(e *llm.Ending) jsontext.Value {
	w := jsonbytes.Writer(nil).Object()
	empty := len(w)
	if e.NativeReason != "" {
		w = w.Text("native_finish_reason", e.NativeReason)
	}
	if e.StopSequence != "" {
		w = w.Text("stop_reason", e.StopSequence)
	}
	if passes(e.StopDetails) {
		w = w.JSON("stop_details", e.StopDetails)
	}
	if passes(e.Safety) {
		w = w.JSON("safety_ratings", e.Safety)
	}
	if len(w) == empty {
		return nil
	}
	return jsontext.Value(w.EndObject())
}
