package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// response is a response, or what is known of it when it begins.
type response struct {
	id        string
	model     string
	created   int64
	status    string
	completed *int64
	failure   any // nil: it has not failed
	output    []item
	usage     *llm.Usage
	request   jsontext.Value
}

// repeated are the members of a request that a response has too, with what stands for one that
// is absent or null.
var repeated = [][2]string{
	{"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"}, {"parallel_tool_calls", "true"},
	{"previous_response_id", "null"}, {"prompt_cache_key", "null"}, {"prompt_cache_retention", "null"},
	{"reasoning", `{"effort":null,"summary":null}`}, {"safety_identifier", "null"}, {"store", "true"}, {"temperature", "1.0"},
	{"text", `{"format":{"type":"text"},"verbosity":"medium"}`}, {"tool_choice", `"auto"`}, {"tools", "[]"}, {"top_logprobs", "0"},
	{"top_p", "1.0"}, {"truncation", `"disabled"`}, {"user", "null"}, {"metadata", "{}"},
}

// object is the response as it is sent. Its system_fingerprint is no member of the
// Responses API: it says that the answer is simulated.
func (a response) object() rawjson.Object {
	var details any
	if a.status == incomplete {
		details = rawjson.Object{"reason", "max_output_tokens"}
	}
	o := rawjson.Object{
		"id", a.id, "object", "response", "created_at", a.created, "status", a.status, "background", false, "completed_at", a.completed,
		"error", a.failure, "incomplete_details", details, "model", a.model, "output", a.output, "frequency_penalty", 0, "presence_penalty", 0,
	}
	for _, member := range repeated {
		value := rawjson.Get(a.request, member[0])
		if !rawjson.Present(value) {
			value = jsontext.Value(member[1])
		}
		o = append(o, member[0], value)
	}
	tier := "default"
	if a.usage == nil {
		tier = "auto" // until the answer is made
	}
	return append(o, "service_tier", tier, "system_fingerprint", "simulated", "usage", usage(a.usage))
}

func usage(u *llm.Usage) any {
	if u == nil {
		return nil
	}
	return rawjson.Object{
		"input_tokens", u.Input, "input_tokens_details", rawjson.Object{"cache_write_tokens", 0, "cached_tokens", u.Cached},
		"output_tokens", u.Output, "output_tokens_details", rawjson.Object{"reasoning_tokens", u.Reasoning}, "total_tokens", u.Total,
	}
}

func (s *Service) answer(q *Request, m wire.Model, p *reply.Prompt) response {
	if q.compacts {
		p.Choice.Mode, p.Reasons = reply.ChoiceNone, false
	}
	r, now := p.Reply(0), s.options.Now().Unix()
	a := response{
		id: wire.NewID("resp_"), model: m.AnswersAs(), created: now, status: completed, completed: &now, output: q.output(r),
		usage: s.cache.Usage(p, []reply.Reply{r}, openai.CacheLeast, openai.CacheStep), request: q.raw,
	}
	if r.End == reply.EndLength && !q.compacts {
		a.status, a.completed = incomplete, nil
	}
	return a
}
