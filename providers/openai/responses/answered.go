package responses

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// answered is what the gateway needs to know of a response that it passes on.
type answered struct {
	id, model, tier string

	// Parts of the response's JSON, which are valid as long as that is.
	object, status, reason, problem, output jsontext.Value

	usage *llm.Usage // nil = not reported
	calls bool       // the model calls something that the client runs

	unkept   bool  // the upstream does not keep the response: its id leads to nothing
	searches int64 // of the web
	tools    int64 // other uses of hosted tools that have a fee
}

// readWhole reads the text of a response. It is false for a text that is no JSON object.
func (a *answered) readWhole(text []byte) bool {
	var c jsonbytes.Cursor
	c.Reset(text)
	if a.members(c.Members()); c.Done() {
		return true
	}
	*a = answered{}
	if !jsonbytes.IsObject(text) {
		return false
	}
	a.members(jsonbytes.Members(text))
	return true
}

// members reads a response.
func (a *answered) members(all iter.Seq2[jsonbytes.Name, jsontext.Value]) {
	var hosted jsontext.Value
	for name, value := range all {
		switch string(name.Text()) {
		case "id":
			a.id = jsonbytes.Text(value)
		case "model":
			a.model = jsonbytes.Text(value)
		case "object":
			a.object = value
		case "status":
			a.status = value
		case "store":
			a.unkept = value.Kind() == jsontext.KindFalse
		case "service_tier":
			a.tier = servedIn(value)
		case "incomplete_details":
			a.reason = jsonbytes.Member(value, "reason")
		case "error":
			a.problem = value
		case "output":
			a.output = value
		case "usage":
			a.usage = usageOf(value)
		case "tool_usage":
			hosted = value
		}
	}
	for item := range jsonbytes.Elements(a.output) {
		a.item(item)
	}
	if requests := jsonbytes.Member(jsonbytes.Member(hosted, "web_search"), "num_requests"); requests != nil {
		a.searches = max(a.searches, wire.CountOf(requests))
	}
}

// servedIn is a service tier. In the tier auto a request is made, but not served.
func servedIn(value jsontext.Value) string {
	switch string(value) {
	case `"auto"`:
		return ""
	case `"default"`:
		return "default"
	}
	return jsonbytes.Text(value)
}

// usageOf is the usage of a response; nil where it has none. It is read once for each
// answer, without a decoder.
func usageOf(value jsontext.Value) *llm.Usage {
	if value.Kind() != jsontext.KindBeginObject {
		return nil
	}
	u := new(llm.Usage)
	for name, value := range jsonbytes.Members(value) {
		object := value.Kind() == jsontext.KindBeginObject
		switch string(name.Text()) {
		case "input_tokens":
			u.Input = wire.CountOf(value)
		case "output_tokens":
			u.Output = wire.CountOf(value)
		case "total_tokens":
			u.Total = wire.CountOf(value)
		case "input_tokens_details":
			if u.HasCache = object; object {
				u.Cached = wire.CountOf(jsonbytes.Member(value, "cached_tokens"))
				u.CacheWrite = wire.CountOf(jsonbytes.Member(value, "cache_write_tokens"))
			}
		case "output_tokens_details":
			if u.HasReasoning = object; object {
				u.Reasoning = wire.CountOf(jsonbytes.Member(value, "reasoning_tokens"))
			}
		}
	}
	return u
}

// item counts what an item of the output costs beside its tokens. Of what a search of the
// web consists of, only the search itself has a fee, not the pages that are opened
// (platform.openai.com, tools-web-search, 2026-11).
func (a *answered) item(item jsontext.Value) {
	switch string(jsonbytes.Member(item, "type")) {
	case `"function_call"`, `"custom_tool_call"`, `"local_shell_call"`, `"apply_patch_call"`, `"computer_call"`, `"tool_search_call"`:
		a.calls = true
	case `"web_search_call"`:
		if kind := jsonbytes.Member(jsonbytes.Member(item, "action"), "type"); kind == nil || string(kind) == `"search"` {
			a.searches++
		}
	case `"file_search_call"`, `"code_interpreter_call"`, `"image_generation_call"`:
		a.tools++
	case `"shell_call"`:
		if llm.Given(jsonbytes.Member(jsonbytes.Member(item, "environment"), "container_id")) {
			a.tools++
			return
		}
		a.calls = true
	}
}

// counted is the usage of an answer that is not whole: nil where nothing of it is known.
func (a *answered) counted() *llm.Usage {
	if u := a.common(); u != nil {
		return u
	}
	if a.searches+a.tools == 0 {
		return nil
	}
	return &llm.Usage{Searches: a.searches, Tools: a.tools}
}

// common is the usage in the common form; nil where it is not reported.
func (a *answered) common() *llm.Usage {
	if a.usage != nil {
		a.usage.Tier, a.usage.Searches, a.usage.Tools = a.tier, a.searches, a.tools
	}
	return a.usage
}

// ending says why the answer ended.
func (a *answered) ending() llm.Ending {
	if reason := jsonbytes.Text(a.reason); reason != "" {
		if reason == "content_filter" {
			return llm.Ending{Finish: llm.FinishContentFilter, NativeReason: reason}
		}
		return llm.Ending{Finish: llm.FinishLength, NativeReason: reason}
	}
	if a.calls {
		return llm.Ending{Finish: llm.FinishToolCalls, NativeReason: jsonbytes.Text(a.status)}
	}
	return llm.Ending{Finish: llm.FinishStop, NativeReason: jsonbytes.Text(a.status)}
}
