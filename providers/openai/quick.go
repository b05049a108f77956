package openai

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// quick reads without reflection, in a tenth of the time, the JSON that most
// traffic consists of: the event with a piece of one choice's text, and the
// answer that can go to the client as it is. It takes nothing else, and nothing
// odd: that is to be read in full.
type quick struct {
	b  []byte
	i  int
	ok bool // so far

	choice            [1]eventChoice
	content           string
	tier, fingerprint string // of the event before
	scratch           []byte
}

// The members that may come, each once.
const (
	sawID = 1 << iota
	sawObject
	sawCreated
	sawModel
	sawTier
	sawFingerprint
	sawChoices
	sawUsage
	sawObfuscation
	sawIndex
	sawDelta
	sawLogprobs
	sawReason
	sawRole
	sawContent
	sawRefusal
	sawReasoning
	sawMessage
	sawPrompt
	sawCompletion
	sawTotal
	sawPromptDetails
	sawCompletionDetails
	sawCount
)

// read reads an event. What all events of a stream repeat (id, object, created
// and model) is checked to be JSON and left out.
func (q *quick) read(data []byte, into *event) bool {
	q.b, q.i, q.ok = data, 0, true
	*into = event{}
	q.choice[0] = eventChoice{}
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "id":
			q.once(&seen, sawID)
			q.skipString()
		case "object":
			q.once(&seen, sawObject)
			q.skipString()
		case "created":
			q.once(&seen, sawCreated)
			q.number()
		case "model":
			q.once(&seen, sawModel)
			q.skipString()
		case "service_tier":
			q.once(&seen, sawTier)
			q.tier = q.repeated(q.tier)
			into.ServiceTier = q.tier
		case "system_fingerprint":
			q.once(&seen, sawFingerprint)
			q.fingerprint = q.repeated(q.fingerprint)
			into.SystemFingerprint = q.fingerprint
		case "choices":
			q.once(&seen, sawChoices)
			q.take('[')
			q.readChoice(&q.choice[0])
			q.take(']')
		case "usage":
			q.once(&seen, sawUsage)
			q.null()
		case "obfuscation":
			q.once(&seen, sawObfuscation)
			q.skipString()
		default:
			return false
		}
	}
	q.space()
	into.Choices = q.choice[:]
	return q.ok && q.i == len(q.b) && seen&sawChoices != 0
}

func (q *quick) readChoice(c *eventChoice) {
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "index":
			q.once(&seen, sawIndex)
			c.Index = q.number()
		case "delta":
			q.once(&seen, sawDelta)
			q.readDelta(&c.Delta)
		case "logprobs":
			q.once(&seen, sawLogprobs)
			q.null()
		case "finish_reason":
			q.once(&seen, sawReason)
			q.null()
		default:
			q.ok = false
		}
	}
}

func (q *quick) readDelta(d *eventDelta) {
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "role":
			q.once(&seen, sawRole)
			q.skipString()
		case "content":
			q.once(&seen, sawContent)
			if q.peek() != 'n' {
				q.content = string(q.text())
				d.Content = &q.content
				break
			}
			q.null()
		case "refusal":
			q.once(&seen, sawRefusal)
			q.null()
		case "reasoning_content":
			q.once(&seen, sawReasoning)
			if q.peek() != 'n' {
				d.ReasoningContent = string(q.text())
				break
			}
			q.null()
		default:
			q.ok = false
		}
	}
}

// once holds a member to its one time.
func (q *quick) once(seen *int, member int) {
	q.ok = q.ok && *seen&member == 0
	*seen |= member
}

func (q *quick) space() {
	for q.i < len(q.b) && (q.b[q.i] == ' ' || q.b[q.i] == '\n' || q.b[q.i] == '\t' || q.b[q.i] == '\r') {
		q.i++
	}
}

// peek is what the next value begins with.
func (q *quick) peek() byte {
	q.space()
	if q.i == len(q.b) {
		return 0
	}
	return q.b[q.i]
}

func (q *quick) take(c byte) {
	if q.peek() != c {
		q.ok = false
		return
	}
	q.i++
}

// more says whether another member comes, and passes what stands before it.
func (q *quick) more(end byte, first bool) bool {
	switch c := q.peek(); {
	case !q.ok:
		return false
	case c == end:
		q.i++
		return false
	case first:
		return true
	default:
		q.take(',')
		return q.ok
	}
}

func (q *quick) name() []byte {
	name := q.text()
	q.take(':')
	return name
}

func (q *quick) null() {
	q.space()
	if !bytes.HasPrefix(q.b[q.i:], []byte("null")) {
		q.ok = false
		return
	}
	q.i += len("null")
}

// number reads a small whole number.
func (q *quick) number() int {
	const most = 18 // digits
	q.space()
	n, start := 0, q.i
	for q.i < len(q.b) && q.b[q.i] >= '0' && q.b[q.i] <= '9' {
		n = n*10 + int(q.b[q.i]-'0')
		q.i++
	}
	digits := q.i - start
	q.ok = q.ok && digits > 0 && digits <= most && (digits == 1 || q.b[start] != '0')
	return n
}

func (q *quick) skipString() { _ = q.text() }

// repeated reads a string or null that is mostly the same as in the event
// before: only a new one is copied.
func (q *quick) repeated(last string) string {
	if q.peek() == 'n' {
		q.null()
		return ""
	}
	text := q.text()
	if string(text) == last {
		return last
	}
	return string(text)
}

// text reads a string. It is a part of the event or of scratch.
func (q *quick) text() []byte {
	q.take('"')
	start, plain := q.i, true
	for ; q.ok && q.i < len(q.b); q.i++ {
		switch c := q.b[q.i]; {
		case c == '"':
			q.i++
			if plain {
				return q.b[start : q.i-1]
			}
			return q.unquote(q.b[start-1 : q.i])
		case c == '\\':
			plain = false
			q.i++ // whatever it is, it does not end the string
		case c < ' ':
			q.ok = false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	q.ok, q.i = false, len(q.b)
	return nil
}

func (q *quick) unquote(literal []byte) []byte {
	var err error
	q.scratch, err = jsontext.AppendUnquote(q.scratch[:0], literal)
	q.ok = q.ok && err == nil
	return q.scratch
}
