package openai

import (
	"modelgateway/models/scan"
)

// quick reads the events and answers that most traffic consists of: the event
// with a piece of one choice's text, and the answer that can go to the client as
// it is. Everything else is to be read in full.
type quick struct {
	scan.Cursor
	choice            [1]eventChoice
	content           string
	tier, fingerprint string // of the event before
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
	q.Reset(data)
	*into = event{}
	q.choice[0] = eventChoice{}
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "id":
			q.Once(&seen, sawID)
			q.Literal()
		case "object":
			q.Once(&seen, sawObject)
			q.Literal()
		case "created":
			q.Once(&seen, sawCreated)
			q.Count()
		case "model":
			q.Once(&seen, sawModel)
			q.Literal()
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
			q.Expect(q.More(']', true))
			q.readChoice(&q.choice[0])
			q.Expect(!q.More(']', false))
		case "usage":
			q.Once(&seen, sawUsage)
			q.Null()
		case "obfuscation":
			q.Once(&seen, sawObfuscation)
			q.Literal()
		default:
			return false
		}
	}
	into.Choices = q.choice[:]
	return q.Done() && seen&sawChoices != 0
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
				q.content = string(q.String())
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
