package messages

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// mark notes a cache mark that has just been read: what comes before it may be written to a cache.
func (o *outline) mark(value jsontext.Value) {
	if !llm.Given(value) {
		return
	}
	o.marked = o.Offset()
	s := &o.request.size
	s.MarkedHour = s.MarkedHour || bytes.Contains(value, []byte(`"1h"`))
}

// measureMarks measures the prompt before its last mark. The prompt consists of the tools, the
// system prompt and the messages, in this order.
func (o *outline) measureMarks() {
	s, after := &o.request.size, 0
	if all := o.request.members[memberCacheControl]; llm.Given(all) { // the last block is marked
		o.mark(all)
		s.Marked = s.Bytes
		return
	}
	for _, m := range [...]member{memberMessages, memberSystem, memberTools} {
		if rest := o.unmarked[m]; rest > 0 {
			s.Marked = max(s.Bytes-int64(after+rest), 0)
			return
		}
		after += len(o.request.members[m])
	}
}
