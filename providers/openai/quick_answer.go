package openai

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// answer reads a whole answer that needs no repair: all that clients rely on is
// there. What is in its choices is checked and left where it is, in Raw.
func (q *quick) answer(data []byte) (*api.ChatCompletion, bool) {
	q.Reset(data)
	c := &api.ChatCompletion{Object: api.ObjectCompletion, Raw: data}
	const needed = sawID | sawObject | sawCreated | sawModel | sawChoices | sawUsage
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "id":
			q.Once(&seen, sawID)
			c.ID = string(q.String())
		case "object":
			q.Once(&seen, sawObject)
			q.word(api.ObjectCompletion)
		case "created":
			q.Once(&seen, sawCreated)
			c.Created = q.Count()
		case "model":
			q.Once(&seen, sawModel)
			c.Model = string(q.String())
		case "choices":
			q.Once(&seen, sawChoices)
			q.wholeChoices()
		case "usage":
			q.Once(&seen, sawUsage)
			c.Usage = q.usage()
		case "error":
			q.Odd()
		default:
			q.Skip()
		}
	}
	return c, q.Done() && seen&needed == needed && c.ID != "" && c.Model != "" && c.Created > 0
}

func (q *quick) wholeChoices() {
	q.Open('[')
	n := 0
	for first := true; q.More(']', first); first = false {
		q.wholeChoice()
		n++
	}
	q.Expect(n > 0)
}

func (q *quick) wholeChoice() {
	const needed = sawIndex | sawMessage | sawReason
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "index":
			q.Once(&seen, sawIndex)
			q.Count()
		case "message":
			q.Once(&seen, sawMessage)
			q.message()
		case "finish_reason":
			q.Once(&seen, sawReason)
			q.Expect(len(q.String()) > 0)
		default:
			q.Skip()
		}
	}
	q.Expect(seen&needed == needed)
}

// message takes one with a text; calls may need repair.
func (q *quick) message() {
	const needed = sawRole | sawContent | sawRefusal
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch name := q.Name(); string(name) {
		case "role":
			q.Once(&seen, sawRole)
			q.word("assistant")
		case "content":
			q.Once(&seen, sawContent)
			q.Literal()
		case "refusal":
			q.Once(&seen, sawRefusal)
			q.Null()
		case "function_call":
			q.Null()
		default:
			q.Expect(!slices.Contains(repaired, string(name)))
			q.Skip()
		}
	}
	q.Expect(seen&needed == needed)
}

// repaired are members of a message that are read in full.
var repaired = []string{"tool_calls", "reasoning_content", "reasoning_details", "images"}

// usage reads counts that make sense, and what else is a number or a word.
func (q *quick) usage() *api.Usage {
	const needed = sawPrompt | sawCompletion | sawTotal
	u := new(api.Usage)
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch name := q.Name(); string(name) {
		case "prompt_tokens":
			q.Once(&seen, sawPrompt)
			u.PromptTokens = q.Count()
		case "completion_tokens":
			q.Once(&seen, sawCompletion)
			u.CompletionTokens = q.Count()
		case "total_tokens":
			q.Once(&seen, sawTotal)
			u.TotalTokens = q.Count()
		case "prompt_tokens_details":
			q.Once(&seen, sawPromptDetails)
			u.PromptTokensDetails = new(api.PromptDetails)
			u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.Extra = q.count("cached_tokens")
		case "completion_tokens_details":
			q.Once(&seen, sawCompletionDetails)
			u.CompletionTokensDetails = new(api.CompletionDetails)
			u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokensDetails.Extra = q.count("reasoning_tokens")
		default:
			u.Extra = q.extra(u.Extra, name)
		}
	}
	q.Expect(seen&needed == needed && u.TotalTokens > 0)
	return u
}

// count reads an object of counts for one of them; the others are carried.
func (q *quick) count(of string) (n int64, extra jsontext.Value) {
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		name := q.Name()
		if string(name) == of {
			q.Once(&seen, sawCount)
			n = q.Count()
			continue
		}
		q.Expect(string(name) != "cache_write_tokens") // ours, and read in full
		extra = q.extra(extra, name)
	}
	q.Expect(seen != 0)
	return n, extra
}

// extra adds a member to those that are only carried, as the full reading does.
func (q *quick) extra(to jsontext.Value, name []byte) jsontext.Value {
	for _, c := range name {
		q.Expect(c == '_' || c >= 'a' && c <= 'z')
	}
	if len(to) == 0 {
		to = append(make(jsontext.Value, 0, 128), '{')
	} else {
		to[len(to)-1] = ','
	}
	to = append(append(append(to, '"'), name...), `":`...)
	return append(append(to, q.Word()...), '}')
}

// word takes one string only.
func (q *quick) word(text string) { q.Expect(string(q.String()) == text) }
