package openai

import (
	"slices"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/native"

	"github.com/go-json-experiment/json/jsontext"
)

// answer reads a whole answer that needs no repair: it has all members that
// clients rely on. Its choices are checked and not copied.
func (r *fastReader) answer(data []byte) (*native.Whole, bool) {
	a := &native.Whole{Dialect: llm.Chat, Raw: data}
	return a, r.readWhole(data, a)
}

// text reads an answer of one text, for a client of another dialect.
func (r *fastReader) text(data []byte) (*oneText, bool) {
	a := new(oneText)
	r.kept = true
	ok := r.readWhole(data, &a.Whole) && len(a.Endings) == 1 && !r.more
	a.content = r.content
	return a, ok
}

func (r *fastReader) readWhole(data []byte, a *native.Whole) bool {
	r.Reset(data)
	r.whole = true
	c := &a.Head
	const needed = sawID | sawObject | sawCreated | sawModel | sawChoices | sawUsage
	var seen uint32
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		switch string(r.Name()) {
		case "id":
			r.Once(&seen, sawID)
			c.ID = string(r.String())
		case "object":
			r.Once(&seen, sawObject)
			r.word(chat.ObjectCompletion)
		case "created":
			r.Once(&seen, sawCreated)
			c.Created = r.Count()
		case "model":
			r.Once(&seen, sawModel)
			c.Model = string(r.String())
		case "choices":
			r.Once(&seen, sawChoices)
			r.wholeChoices(a)
		case "usage":
			r.Once(&seen, sawUsage)
			a.Usage = r.usage().Common()
		case "service_tier":
			r.Once(&seen, sawTier)
			c.ServiceTier = r.Usual(serviceTiers...) // another kind of value is left to the full reader
		case "system_fingerprint":
			r.fingerprinted(c)
		case "error":
			r.Fail()
		default:
			r.Skip()
		}
	}
	return r.Done() && seen&needed == needed && c.ID != "" && c.Model != "" && c.Created > 0
}

func (r *fastReader) fingerprinted(head *llm.Head) {
	if !r.kept {
		r.Skip()
		return
	}
	head.Fingerprint = r.Usual()
}

func (r *fastReader) wholeChoices(a *native.Whole) {
	r.Open('[')
	n := 0
	for first := true; r.More(']', first); first = false {
		a.Endings = append(a.Endings, llm.Ending{Finish: r.wholeChoice()})
		n++
	}
	r.Assert(n > 0)
}

// wholeChoice reads a choice and returns its finish reason.
func (r *fastReader) wholeChoice() (finish llm.Finish) {
	const needed = sawIndex | sawMessage | sawReason
	var seen uint32
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		switch string(r.Name()) {
		case "index":
			r.Once(&seen, sawIndex)
			r.more = r.Count() != 0 || r.more
		case "message":
			r.Once(&seen, sawMessage)
			r.message()
		case "finish_reason":
			r.Once(&seen, sawReason)
			finish = finishOf(r.String())
			r.Assert(finish != "" && finishWords[string(finish)] == "")
		case "logprobs":
			r.more = r.Peek() != 'n' || r.more
			r.Skip()
		default:
			r.Skip()
		}
	}
	r.Assert(seen&needed == needed)
	return finish
}

// finishOf is a finish reason; the usual ones are not copied.
func finishOf(text []byte) llm.Finish {
	switch string(text) {
	case string(llm.FinishStop):
		return llm.FinishStop
	case string(llm.FinishLength):
		return llm.FinishLength
	}
	return llm.Finish(text)
}

// message reads a message with a text; calls may need repair.
func (r *fastReader) message() {
	const needed = sawRole | sawContent | sawRefusal
	var seen uint32
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		switch name := r.Name(); string(name) {
		case "role":
			r.Once(&seen, sawRole)
			r.word("assistant")
		case "content":
			r.Once(&seen, sawContent)
			if r.kept {
				r.content = string(r.String())
			} else {
				r.Literal()
			}
		case "refusal":
			r.Once(&seen, sawRefusal)
			r.Null()
		case "function_call":
			r.Null()
		default:
			r.Assert(!slices.Contains(repaired, string(name)))
			r.Skip()
		}
	}
	r.Assert(seen&needed == needed)
}

// repaired are members of a message that are read in full.
var repaired = []string{"tool_calls", "reasoning", "reasoning_content", "reasoning_details", "images"}

// usage reads counts within their bounds, and other members that are a number,
// true, false or null. It is valid until the next usage is read.
func (r *fastReader) usage() *chat.Usage {
	const needed = sawPrompt | sawCompletion | sawTotal
	u := &r.counts
	*u = chat.Usage{}
	var seen uint32
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		switch name := r.Name(); string(name) {
		case "prompt_tokens":
			r.Once(&seen, sawPrompt)
			u.PromptTokens = r.Count()
		case "completion_tokens":
			r.Once(&seen, sawCompletion)
			u.CompletionTokens = r.Count()
		case "total_tokens":
			r.Once(&seen, sawTotal)
			u.TotalTokens = r.Count()
		case "prompt_tokens_details":
			r.Once(&seen, sawPromptDetails)
			r.prompt = chat.PromptDetails{}
			u.PromptTokensDetails = &r.prompt
			u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.Extra = r.count("cached_tokens")
		case "completion_tokens_details":
			r.Once(&seen, sawCompletionDetails)
			r.completion = chat.CompletionDetails{}
			u.CompletionTokensDetails = &r.completion
			u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokensDetails.Extra = r.count("reasoning_tokens")
		default:
			u.Extra = r.extra(u.Extra, name)
		}
	}
	r.Assert(seen&needed == needed && u.TotalTokens > 0 && !leavesOutReasoning(u) && !hidesTokens(u))
	return u
}

// count reads an object of counts for one of them; the others are carried.
func (r *fastReader) count(of string) (n int64, extra jsontext.Value) {
	var seen uint32
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		name := r.Name()
		if string(name) == of {
			r.Once(&seen, sawCount)
			n = r.Count()
			continue
		}
		r.Assert(string(name) != "cache_write_tokens") // the gateway's own member, which is read in full
		extra = r.extra(extra, name)
	}
	r.Assert(seen != 0)
	return n, extra
}

// extra adds a member to those that are passed on, as the full decoding does.
func (r *fastReader) extra(to jsontext.Value, name []byte) jsontext.Value {
	if r.whole {
		r.Word()
		return nil
	}
	for _, c := range name {
		r.Assert(c == '_' || c >= 'a' && c <= 'z')
	}
	if len(to) == 0 {
		to = append(make(jsontext.Value, 0, 128), '{')
	} else {
		to[len(to)-1] = ','
	}
	to = append(append(append(to, '"'), name...), `":`...)
	return append(append(to, r.Word()...), '}')
}

// word accepts one string only.
func (r *fastReader) word(text string) { r.Assert(string(r.String()) == text) }
