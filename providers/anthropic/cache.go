package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// mostMarks is how many cache marks Anthropic takes in one request.
const mostMarks = 4

// mark carries the cache marks. Of too many the last ones stay: they cover the
// most of the prompt, in the order tools, system, messages.
func (t *translation) mark() {
	var marks []*jsontext.Value
	for i := range t.tools {
		marks = addMark(marks, &t.tools[i].cacheControl)
	}
	if system, ok := t.out.System.([]block); ok {
		marks = addMarks(marks, system)
	}
	for i := range t.out.Messages {
		marks = addMarks(marks, t.out.Messages[i].Content)
	}
	if api.Given(t.req.CacheControl) {
		t.out.CacheControl = t.req.CacheControl
		marks = append(marks, &t.out.CacheControl)
	}
	for ; len(marks) > mostMarks; marks = marks[1:] {
		*marks[0] = nil
		t.lose("cache_control")
	}
}

func addMarks(marks []*jsontext.Value, blocks []block) []*jsontext.Value {
	for i := range blocks {
		if inner, ok := blocks[i].Content.([]block); ok {
			marks = addMarks(marks, inner)
		}
		marks = addMark(marks, &blocks[i].CacheControl)
	}
	return marks
}

func addMark(marks []*jsontext.Value, mark *jsontext.Value) []*jsontext.Value {
	if *mark == nil {
		return marks
	}
	return append(marks, mark)
}
