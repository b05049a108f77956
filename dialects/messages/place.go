package messages

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// systemItem is the index of the system prompt, which is not in the list of messages.
const systemItem = -2

// innerParts is more than a message has blocks: the part of an llm.At holds the index of
// a block, and above it one more than that of a block inside its content.
const innerParts = 1 << 16

// place is a block of the client's request.
type place struct {
	item  int // of the list of messages, or systemItem
	part  int // of the content; -1 = the content itself
	inner int // of the content of that block; -1 = the block itself
}

// at is the place in the common form.
func (p place) at() llm.At {
	if p.inner < 0 {
		return llm.At{Item: p.item, Part: p.part}
	}
	return llm.At{Item: p.item, Part: (p.inner+1)*innerParts + p.part}
}

// placeOf is the place of an llm.At.
func placeOf(at llm.At) place {
	p := place{item: at.Item, part: at.Part, inner: -1}
	if at.Part >= innerParts {
		p.part, p.inner = at.Part%innerParts, at.Part/innerParts-1
	}
	return p
}

// path names the block, or the whole content. An index of -1 stands for all.
func (p place) path() string {
	var b strings.Builder
	if p.item == systemItem {
		b.WriteString("system")
	} else {
		b.WriteString(p.message() + ".content")
	}
	if p.part < 0 && p.item != anyItem {
		return b.String()
	}
	b.WriteString("[" + index(p.part) + "]")
	if p.inner >= 0 {
		b.WriteString(".content[" + index(p.inner) + "]")
	}
	return b.String()
}

// message names the message.
func (p place) message() string {
	if p.item == systemItem {
		return "system"
	}
	return "messages[" + index(p.item) + "]"
}

// anyItem is the index that stands for all messages.
const anyItem = -1

func index(i int) string {
	if i < 0 {
		return ""
	}
	return strconv.Itoa(i)
}

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
