package openai

import (
	"modelgateway/models/scan"
)

// quick reads the events and answers that most traffic consists of: the event
// with a piece of one choice's text, and the answer that can go to the client as
// it is. Everything else is to be read in full.
type quick struct {
	scan.Cursor
	warm    bool // event is as pattern has it
	event   event
	choice  [1]eventChoice
	content string

	id, model, tier, fingerprint string // of the event before
	pattern                      pattern
}

// pattern is an event that was read, with two holes: between from and to its
// piece of text, and between pad and end its padding. One that differs in what
// fills them only needs nothing else read.
type pattern struct {
	text               []byte
	from, to, pad, end int
	event              event
	choice             eventChoice
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

// read reads an event. It is valid until the next one is read, and not to be
// changed.
func (q *quick) read(data []byte) (*event, bool) {
	if q.again(data) {
		return &q.event, true
	}
	q.warm = false
	p := &q.pattern
	p.from, p.to, p.pad, p.end = 0, 0, len(data), len(data)
	p.text = p.text[:0]
	if !q.first(data) {
		return nil, false
	}
	if p.to > p.from && p.pad > p.to {
		p.text, p.event, p.choice = append(p.text, data...), q.event, q.choice[0]
	}
	return &q.event, true
}

// again reads an event that is like the last one.
func (q *quick) again(data []byte) bool {
	p := &q.pattern
	if len(p.text) == 0 {
		return false
	}
	q.Reset(data)
	q.Pass(p.text[:p.from])
	text := q.String()
	if q.Peek() == 0 {
		return false
	}
	content := string(text)
	q.Pass(p.text[p.to:p.pad])
	if p.pad < p.end {
		q.Literal()
		q.Pass(p.text[p.end:])
	}
	if !q.Done() {
		return false
	}
	q.content = content
	if !q.warm {
		q.event, q.choice[0] = p.event, p.choice
		q.choice[0].Delta.Content = &q.content
		q.event.Choices = q.choice[:]
		q.warm = true
	}
	return true
}

// first reads an event in which anything may come.
func (q *quick) first(data []byte) bool {
	q.Reset(data)
	q.event = event{}
	q.choice[0] = eventChoice{}
	into := &q.event
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "id":
			q.Once(&seen, sawID)
			q.id = q.repeated(q.id)
			into.ID = q.id
		case "object":
			q.Once(&seen, sawObject)
			q.Literal()
		case "created":
			q.Once(&seen, sawCreated)
			into.Created = q.Count()
		case "model":
			q.Once(&seen, sawModel)
			q.model = q.repeated(q.model)
			into.Model = q.model
		case "service_tier":
			q.Once(&seen, sawTier)
			q.tier = q.repeated(q.tier)
			into.ServiceTier = q.tier
		case "system_fingerprint":
			q.Once(&seen, sawFingerprint)
			q.fingerprint = q.repeated(q.fingerprint)
			into.SystemFingerprint = q.fingerprint
		case "choices":
			q.Once(&seen, sawChoices)
			q.Open('[')
			into.Choices = q.choice[:0]
			if q.More(']', true) {
				into.Choices = q.choice[:]
				q.readChoice(&q.choice[0])
				q.Expect(!q.More(']', false))
			}
		case "usage":
			q.Once(&seen, sawUsage)
			if q.Peek() == '{' {
				into.Usage = q.usage()
				break
			}
			q.Null()
		case "obfuscation":
			q.Once(&seen, sawObfuscation)
			q.Peek()
			q.pattern.pad = q.Offset()
			q.Literal()
			q.pattern.end = q.Offset()
		default:
			return false
		}
	}
	return q.Done() && seen&sawChoices != 0 && (len(into.Choices) > 0 || into.Usage != nil)
}

func (q *quick) readChoice(c *eventChoice) {
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "index":
			q.Once(&seen, sawIndex)
			c.Index = int(q.Count())
		case "delta":
			q.Once(&seen, sawDelta)
			q.readDelta(&c.Delta)
		case "logprobs":
			q.Once(&seen, sawLogprobs)
			q.Null()
		case "finish_reason":
			q.Once(&seen, sawReason)
			if q.Peek() != 'n' {
				c.FinishReason = string(q.String())
				break
			}
			q.Null()
		default:
			q.Odd()
		}
	}
}

func (q *quick) readDelta(d *eventDelta) {
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "role":
			q.Once(&seen, sawRole)
			q.Literal()
		case "content":
			q.Once(&seen, sawContent)
			if q.Peek() != 'n' {
				q.pattern.from = q.Offset()
				q.content = string(q.String())
				q.pattern.to = q.Offset()
				d.Content = &q.content
				break
			}
			q.Null()
		case "refusal":
			q.Once(&seen, sawRefusal)
			q.Null()
		case "reasoning_content":
			q.Once(&seen, sawReasoning)
			if q.Peek() != 'n' {
				d.ReasoningContent = string(q.String())
				break
			}
			q.Null()
		default:
			q.Odd()
		}
	}
}

// repeated reads a string or null that is mostly the same as in the event
// before: only a new one is copied.
func (q *quick) repeated(last string) string {
	if q.Peek() == 'n' {
		q.Null()
		return ""
	}
	text := q.String()
	if string(text) == last {
		return last
	}
	return string(text)
}
