package openai

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// OpenAI caches prompts of CacheLeast tokens or more by itself, in steps of CacheStep.
// Source: https://platform.openai.com/docs/guides/prompt-caching
const (
	CacheLeast = 1024
	CacheStep  = 128
)

// answer writes as the gateway does, which leaves out what no client reads: the padding of
// OpenAI's events, empty annotations, and the counts of sounds and predictions. OpenAI never
// shows its reasoning.
func (s *Service) answer(q *Request, p *reply.Prompt) wire.Answer {
	form := reply.Form{CallIDs: "call_"}
	if q.Logprobs {
		form.Logprobs = q.logprobs
	}
	var replies []reply.Reply
	var choices [][]llm.Event
	for i := range q.choices() {
		r := p.Reply(i)
		replies, choices = append(replies, r), append(choices, r.Events(i, form))
	}
	head := llm.Head{
		ID: wire.NewID("chatcmpl-"), Model: q.answersAs, Created: s.options.Now().Unix(), ServiceTier: "default", Fingerprint: "simulated",
	}
	usage := s.cache.Usage(p, replies, CacheLeast, CacheStep)
	usage.CacheWrite = 0 // OpenAI does not count it
	return wire.Answer{
		Dialect: chat.Dialect(), Request: &llm.Request{Stream: q.Stream, Usage: q.wantsUsage(), SingleCall: len(q.Functions) > 0},
		Stream: reply.Stream(head, usage, choices...), Fault: p.Trigger().Fault,
		Error: event(Documented(http.StatusInternalServerError).Body),
	}
}

func (q *Request) wantsUsage() bool { return q.StreamOptions != nil && q.StreamOptions.IncludeUsage }

func event(v any) []byte { return append(append([]byte("data: "), rawjson.Encode(v)...), "\n\n"...) }

// logprobs gives a token the probability 1, whose logarithm is 0: no other could have come.
func (q *Request) logprobs(token string) jsontext.Value {
	numbers := []int{}
	for _, b := range []byte(token) {
		numbers = append(numbers, int(b))
	}
	one := rawjson.Object{"token", token, "logprob", 0, "bytes", numbers}
	top := []rawjson.Object{}
	if q.TopLogprobs != nil && *q.TopLogprobs > 0 {
		top = append(top, one)
	}
	return rawjson.Encode(rawjson.Object{"content", []rawjson.Object{append(one, "top_logprobs", top)}, "refusal", nil})
}
