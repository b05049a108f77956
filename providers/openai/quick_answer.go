package openai

import (
	"bytes"
	"slices"

	"modelgateway/models/api"
)

// answer reads a whole answer that needs no repair: all that clients rely on is
// there. What is in its choices is checked and left where it is, in Raw.
func (q *quick) answer(data []byte) (*api.ChatCompletion, bool) {
	q.b, q.i, q.ok = data, 0, true
	c := &api.ChatCompletion{Object: api.ObjectCompletion, Raw: data}
	const needed = sawID | sawObject | sawCreated | sawModel | sawChoices
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "id":
			q.once(&seen, sawID)
			c.ID = string(q.text())
		case "object":
			q.once(&seen, sawObject)
			q.word(api.ObjectCompletion)
		case "created":
			q.once(&seen, sawCreated)
			c.Created = int64(q.number())
		case "model":
			q.once(&seen, sawModel)
			c.Model = string(q.text())
		case "choices":
			q.once(&seen, sawChoices)
			q.wholeChoices()
		case "usage":
			q.once(&seen, sawUsage)
			c.Usage = q.usage()
		case "error":
			q.ok = false
		default:
			q.value(maxDepth)
		}
	}
	q.space()
	return c, q.ok && q.i == len(q.b) && seen&needed == needed && c.ID != "" && c.Model != "" && c.Created > 0
}

// maxDepth is of values that are only carried.
const maxDepth = 100

func (q *quick) wholeChoices() {
	q.take('[')
	n := 0
	for first := true; q.more(']', first); first = false {
		q.wholeChoice()
		n++
	}
	q.ok = q.ok && n > 0
}

func (q *quick) wholeChoice() {
	const needed = sawIndex | sawMessage | sawReason
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "index":
			q.once(&seen, sawIndex)
			q.number()
		case "message":
			q.once(&seen, sawMessage)
			q.message()
		case "finish_reason":
			q.once(&seen, sawReason)
			q.ok = q.ok && len(q.text()) > 0
		default:
			q.value(maxDepth)
		}
	}
	q.ok = q.ok && seen&needed == needed
}

// message takes one with a text; calls may need repair.
func (q *quick) message() {
	const needed = sawRole | sawContent | sawRefusal
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch name := q.name(); string(name) {
		case "role":
			q.once(&seen, sawRole)
			q.word("assistant")
		case "content":
			q.once(&seen, sawContent)
			q.skipString()
		case "refusal":
			q.once(&seen, sawRefusal)
			q.null()
		case "function_call":
			q.null()
		default:
			q.ok = q.ok && !slices.Contains(repaired, string(name))
			q.value(maxDepth)
		}
	}
	q.ok = q.ok && seen&needed == needed
}

// repaired are members of a message that are read in full.
var repaired = []string{"tool_calls", "reasoning_content", "reasoning_details", "images"}

// usage reads counts that make sense.
func (q *quick) usage() *api.Usage {
	const needed = sawPrompt | sawCompletion | sawTotal
	u := new(api.Usage)
	seen := 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		switch string(q.name()) {
		case "prompt_tokens":
			q.once(&seen, sawPrompt)
			u.PromptTokens = int64(q.number())
		case "completion_tokens":
			q.once(&seen, sawCompletion)
			u.CompletionTokens = int64(q.number())
		case "total_tokens":
			q.once(&seen, sawTotal)
			u.TotalTokens = int64(q.number())
		case "prompt_tokens_details":
			q.once(&seen, sawPromptDetails)
			u.PromptTokensDetails = &api.PromptDetails{CachedTokens: q.count("cached_tokens")}
		case "completion_tokens_details":
			q.once(&seen, sawCompletionDetails)
			u.CompletionTokensDetails = &api.CompletionDetails{ReasoningTokens: q.count("reasoning_tokens")}
		default:
			q.value(maxDepth)
		}
	}
	q.ok = q.ok && seen&needed == needed && u.TotalTokens > 0
	return u
}

// count reads an object of counts for one of them.
func (q *quick) count(of string) int64 {
	n, seen := 0, 0
	q.take('{')
	for first := true; q.more('}', first); first = false {
		if string(q.name()) == of {
			q.once(&seen, sawCount)
			n = q.number()
			continue
		}
		q.value(maxDepth)
	}
	q.ok = q.ok && seen != 0
	return int64(n)
}

// word takes one string only.
func (q *quick) word(text string) { q.ok = q.ok && string(q.text()) == text }

// value checks any value, nested at most depth levels.
func (q *quick) value(depth int) {
	switch c := q.peek(); {
	case !q.ok || depth == 0:
		q.ok = false
	case c == '"':
		q.skipString()
	case c == '{':
		q.i++
		for first := true; q.more('}', first); first = false {
			q.name()
			q.value(depth - 1)
		}
	case c == '[':
		q.i++
		for first := true; q.more(']', first); first = false {
			q.value(depth - 1)
		}
	default:
		q.literal()
	}
}

// literal checks true, false, null and the numbers that a call of strconv would
// not be needed for: anything else is read in full.
func (q *quick) literal() {
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(q.b[q.i:], []byte(word)) {
			q.i += len(word)
			return
		}
	}
	if q.i < len(q.b) && q.b[q.i] == '-' {
		q.i++
	}
	if q.i == len(q.b) || q.b[q.i] < '0' || q.b[q.i] > '9' {
		q.ok = false
		return
	}
	q.number()
	if q.i < len(q.b) && q.b[q.i] == '.' {
		q.i++
		start := q.i
		for q.i < len(q.b) && q.b[q.i] >= '0' && q.b[q.i] <= '9' {
			q.i++
		}
		q.ok = q.ok && q.i > start
	}
}
