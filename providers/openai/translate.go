package openai

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/providers"
)

// translation is the changes to a request's bytes.
type translation struct {
	server  *providers.Server
	set     []member // top-level members to write in place of the client's
	drop    []string // top-level members to leave out
	ignored []string
	history bool // messages hold members for other providers
	tools   bool // the tools hold members for other providers
}

type member struct {
	name    string
	value   jsontext.Value
	written bool
}

func translate(call providers.Call, req *chat.Request, server *providers.Server) translation {
	t := translation{server: server, set: make([]member, 0, 3), drop: make([]string, 0, 8)}
	t.put("model", quote(call.Model.Upstream))
	t.limits(req, call.Model.Traits.LimitField)
	t.sampling(call.Model.Traits, req, t.effort(call.Model.Traits, req))
	t.extensions(req)
	t.foreign(req, call.Request.Raw)
	if req.Stream && !slices.Contains(server.Lacks, streamOptions) {
		t.put(streamOptions, jsontext.Value(usageOnly))
	}
	t.adapt(call.Request.Raw)
	slices.Sort(t.ignored)
	return t
}

func (t *translation) put(name string, value jsontext.Value) {
	t.set = append(t.set, member{name: name, value: value})
}

const oldLimit, newLimit = "max_tokens", "max_completion_tokens"

// limits writes the output limit under the one name that the model accepts. If the
// client gives both names, the newer one is used.
func (t *translation) limits(req *chat.Request, field string) {
	limit, other := req.MaxCompletionTokens, oldLimit
	if limit == nil {
		limit = req.MaxTokens
	}
	if field == "" || limit == nil {
		return
	}
	if field == oldLimit {
		other = newLimit
	}
	t.drop = append(t.drop, other)
	t.put(field, number(*limit))
	if req.MaxTokens != nil && *req.MaxTokens != *limit {
		t.ignored = append(t.ignored, oldLimit)
	}
}

// samples says whether a model accepts temperature, top_p and penalties with this
// effort of reasoning.
func samples(traits catalog.Traits, effort string) bool {
	takes := traits.Sampling
	if traits.SamplingThinking != "" && effort != "" && effort != "none" {
		takes = traits.SamplingThinking
	}
	return takes != catalog.SamplingNone
}

// effort is how hard the model shall reason. It is turned off where the API refuses
// functions and reasoning together.
func (t *translation) effort(traits catalog.Traits, req *chat.Request) string {
	isFunction := func(tool chat.Tool) bool { return tool.Function != nil }
	if len(req.Functions) == 0 && !slices.ContainsFunc(req.Tools, isFunction) || !mustNotReason(traits, req.ReasoningEffort) {
		return req.ReasoningEffort
	}
	t.put(effortMember, quote(noEffort))
	t.lose(effortMember, true)
	return noEffort
}

// sampling leaves out what a model refuses while it reasons, always or for this
// request.
func (t *translation) sampling(traits catalog.Traits, req *chat.Request, effort string) {
	if samples(traits, effort) {
		return
	}
	for _, f := range []struct {
		name  string
		value *float64
		idle  float64
	}{
		{"temperature", req.Temperature, 1},
		{"top_p", req.TopP, 1},
		{"presence_penalty", req.PresencePenalty, 0},
		{"frequency_penalty", req.FrequencyPenalty, 0},
	} {
		if f.value != nil {
			t.leaveOut(f.name, *f.value != f.idle)
		}
	}
}

// extensions leaves out members for other providers: OpenAI refuses unknown
// members, also null ones.
func (t *translation) extensions(req *chat.Request) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"top_k", req.TopK != nil}, {"thinking", req.Thinking != nil}, {cacheControl, llm.Given(req.CacheControl)}} {
		if !t.takes(f.name) {
			t.leaveOut(f.name, f.given)
		}
	}
}

const cacheControl = "cache_control"

func (t *translation) takes(name string) bool { return slices.Contains(t.server.Takes, name) }

// leaveOut drops a member and records it as ignored, if it is there.
func (t *translation) leaveOut(name string, loss bool) {
	t.drop = append(t.drop, name)
	t.lose(name, loss)
}

func (t *translation) lose(name string, loss bool) {
	if loss && !slices.Contains(t.ignored, name) {
		t.ignored = append(t.ignored, name)
	}
}

// foreign looks for members that the gateway added to the history for other
// providers, and for their cache marks.
func (t *translation) foreign(req *chat.Request, raw []byte) {
	t.history = chat.HasPackedID(raw)
	marks := !t.takes(cacheControl)
	noNames := slices.Contains(t.server.Lacks, providers.LacksName)
	for i := range req.Messages {
		m := &req.Messages[i]
		t.history = t.history || m.ReasoningContent != "" || len(m.ReasoningDetails) > 0 || len(m.Images) > 0 ||
			len(m.CacheControl) > 0 || len(m.ToolCallID) > longestID || noNames && m.Name != "" ||
			t.server.SystemRole && m.Role == "developer" || t.server.CallIDs > 0 && (m.ToolCallID != "" || len(m.ToolCalls) > 0)
		t.lose(providers.LacksName, noNames && m.Name != "")
		t.lose("messages[].images", len(m.Images) > 0)
		t.lose("messages[].reasoning_content", t.server.Reasoning == "" && m.ReasoningContent != "" && len(m.ReasoningDetails) == 0)
		t.lose("messages[].cache_control", marks && llm.Given(m.CacheControl))
		for _, c := range m.ToolCalls {
			t.history = t.history || c.ExtraContent != nil || len(c.ID) > longestID
		}
		for _, p := range m.Content.Parts {
			t.history = t.history || len(p.CacheControl) > 0
			t.lose("messages[].content[].cache_control", marks && llm.Given(p.CacheControl))
		}
	}
	for _, tool := range req.Tools {
		t.tools = t.tools || len(tool.CacheControl) > 0
		t.lose("tools[].cache_control", marks && llm.Given(tool.CacheControl))
	}
}

// body writes the request in pieces, member by member, with the changes. What is
// not changed is sent byte for byte; long parts are not copied.
func (t *translation) body(raw []byte) ([][]byte, error) {
	const long, usual = 1 << 10, 512
	pieces := make([][]byte, 0, 3)
	out := append(make([]byte, 0, min(len(raw), usual)+usual), '{')
	first := true
	for name, value := range scan.Members(raw) {
		if t.drops(name) {
			continue
		}
		value, err := t.rewrite(name, value)
		if err != nil {
			return nil, err
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(out, name...), ':')
		if len(value) < long {
			out = append(out, value...)
			continue
		}
		pieces = append(pieces, out, value)
		out = out[len(out):]
	}
	for _, m := range t.set {
		if m.written {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(append(append(out, '"'), m.name...), `":`...), m.value...)
	}
	return append(pieces, append(out, '}')), nil
}

func (t *translation) drops(name scan.Name) bool {
	for _, d := range t.drop {
		if name.Is(d) {
			return true
		}
	}
	return false
}

// rewrite is the value that replaces a member's.
func (t *translation) rewrite(name scan.Name, value jsontext.Value) (jsontext.Value, error) {
	for i := range t.set {
		m := &t.set[i]
		if !name.Is(m.name) {
			continue
		}
		m.written = true
		if m.name == streamOptions {
			return withUsage(value), nil
		}
		return m.value, nil
	}
	if t.history && name.Is("messages") || t.tools && name.Is("tools") {
		return historyOf(t.server).array(value), nil
	}
	return value, nil
}

const (
	streamOptions = "stream_options"
	usageOnly     = `{"include_usage":true}`
)

// withUsage requests the usage also if the client did not: the gateway meters every
// call. Other options of the client stay.
func withUsage(options jsontext.Value) jsontext.Value {
	if string(options) == usageOnly || options.Kind() != jsontext.KindBeginObject {
		return jsontext.Value(usageOnly)
	}
	all := map[string]jsontext.Value{}
	if err := json.Unmarshal(options, &all); err != nil {
		return jsontext.Value(usageOnly)
	}
	all["include_usage"] = jsontext.Value("true")
	out, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		return jsontext.Value(usageOnly)
	}
	return out
}
