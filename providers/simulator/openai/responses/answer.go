package responses

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
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

// unset are the default values that a response has for members that its request leaves out or sets to null.
var unset = map[string]string{
	"parallel_tool_calls": "true", "reasoning": `{"effort":null,"summary":null}`, "store": "true", "temperature": "1.0",
	"text": `{"format":{"type":"text"},"verbosity":"medium"}`, "tool_choice": `"auto"`, "tools": "[]", "top_logprobs": "0", "top_p": "1.0",
	"truncation": `"disabled"`, "metadata": "{}",
}

// repeat adds members of the request to an object.
func (a response) repeat(o rawjson.Object, names ...string) rawjson.Object {
	for _, name := range names {
		value := jsonbytes.Member(a.request, name)
		if !llm.Given(value) {
			value = jsontext.Value(cmp.Or(unset[name], "null"))
		}
		o = append(o, name, value)
	}
	return o
}

// object is the response as it is sent, with the members of a recorded one in their order. Its
// system_fingerprint is no member of the Responses API: it says that the answer is simulated.
func (a response) object() rawjson.Object {
	output := []rawjson.Object{}
	for _, i := range a.output {
		output = append(output, i.done)
	}
	var details any
	if a.status == incomplete {
		details = rawjson.Object{"reason", "max_output_tokens"}
	}
	tier := "default"
	if a.usage == nil {
		tier = "auto" // until the answer is made
	}
	o := rawjson.Object{
		"id", a.id, "object", "response", "created_at", a.created, "status", a.status, "background", false, "completed_at", a.completed,
		"error", a.failure, "frequency_penalty", 0, "incomplete_details", details,
	}
	o = append(a.repeat(o, "instructions", "max_output_tokens", "max_tool_calls"), "model", a.model, "output", output)
	o = append(a.repeat(o, "parallel_tool_calls"), "presence_penalty", 0)
	o = a.repeat(o, "previous_response_id", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier")
	o = append(o, "service_tier", tier)
	o = append(a.repeat(o, "store"), "system_fingerprint", "simulated")
	o = a.repeat(o, "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation")
	return a.repeat(append(o, "usage", usage(a.usage)), "user", "metadata")
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

func (s *Service) answer(q *Request, p *reply.Prompt) response {
	if q.compacts {
		p.Choice.Mode, p.Reasons = reply.ChoiceNone, false
	}
	r, now := p.Reply(0), s.options.Now().Unix()
	a := response{
		id: wire.NewID("resp_"), model: q.answersAs, created: now, status: completed, completed: &now, output: q.output(r),
		usage: s.cache.Usage(p, []reply.Reply{r}, openai.CacheLeast, openai.CacheStep), request: q.raw,
	}
	if r.End == reply.EndLength && !q.compacts {
		a.status, a.completed = incomplete, nil
	}
	return a
}
