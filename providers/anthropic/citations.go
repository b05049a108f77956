package anthropic

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// answerCitation is a source of a text block: a place in a document of the prompt, a result
// of a search, or a web page. Each type has some of the members.
type answerCitation struct {
	CitedText     word `json:"cited_text"`
	URL           word `json:"url"`
	Source        word `json:"source"` // of a search result of the prompt: often its address
	Title         word `json:"title"`
	DocumentTitle word `json:"document_title"`
}

// citation reads a citation; false where it says nothing that can be read, which is no
// reason to refuse an answer.
func citation(text raw) (llm.Citation, bool) {
	if jsontext.Value(text).Kind() != jsontext.KindBeginObject {
		return llm.Citation{}, false
	}
	var from answerCitation
	if json.Unmarshal(text, &from, api.Lenient) != nil {
		return llm.Citation{}, false
	}
	c := llm.Citation{
		URL: string(from.URL), Quote: string(from.CitedText), Title: string(cmp.Or(from.Title, from.DocumentTitle)),
	}
	if source := string(from.Source); c.URL == "" && (strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")) {
		c.URL = source
	}
	if c.URL == "" {
		c.Native = jsontext.Value(text)
	}
	return c, c.URL != "" || c.Title != "" || c.Quote != ""
}

// citations reads those of a whole block.
func citations(list raw) []llm.Citation {
	if jsontext.Value(list).Kind() != jsontext.KindBeginArray {
		return nil
	}
	var all []llm.Citation
	for _, text := range elements(jsontext.Value(list)) {
		if c, ok := citation(raw(text)); ok {
			all = append(all, c)
		}
	}
	return all
}

// sendCitations sends those of a text block that has ended. They come before the text or
// after it.
func (a *answer) sendCitations(o *openBlock) bool {
	for i := range o.citations {
		o.citations[i].Start, o.citations[i].End = o.from, a.chars
	}
	switch {
	case a.answered:
		return true
	case a.exchange.answerTool != "":
		a.cited = append(a.cited, o.citations...)
		return true
	}
	return a.out.Citations(0, o.citations)
}
