package chat

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// translation is the changes to a request for a chat completion.
type translation struct {
	wire.Edit

	history bool // messages hold members for other providers
	tools   bool // the tools hold members for other providers
}

func translate(call providers.Call, req *chat.Request, server *providers.Server) translation {
	t := translation{Edit: wire.NewEdit(server)}
	t.Put("model", wire.Quote(call.Model.Upstream))
	t.limits(req, call.Model.Traits.LimitField)
	t.sampling(call.Model.Traits, req, t.effort(call.Model.Traits, req))
	t.extensions(req)
	t.foreign(req, call.Request.Raw)
	if req.Stream && !slices.Contains(server.Lacks, wire.StreamOptions) {
		t.Change(wire.StreamOptions, jsontext.Value(usageOnly), withUsage)
	}
	t.Adapt(call.Request.Raw)
	slices.Sort(t.Ignored)
	return t
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
	t.LeaveOut(other, false)
	t.Put(field, wire.Number(*limit))
	t.NoteIgnored(oldLimit, req.MaxTokens != nil && *req.MaxTokens != *limit)
}

// effort is how hard the model shall reason. It is turned off where the API refuses
// functions and reasoning together.
func (t *translation) effort(traits catalog.Traits, req *chat.Request) string {
	if !offersFunctions(req) || !mustNotReason(traits, req.ReasoningEffort) {
		return req.ReasoningEffort
	}
	t.Put(wire.EffortMember, wire.Quote(wire.NoEffort))
	t.NoteIgnored(wire.EffortMember, true)
	return wire.NoEffort
}

// sampling leaves out what a model refuses while it reasons, always or for this
// request.
func (t *translation) sampling(traits catalog.Traits, req *chat.Request, effort string) {
	if compose.TakesSampling(traits, effort) {
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
			t.LeaveOut(f.name, *f.value != f.idle)
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
		if !t.Takes(f.name) {
			t.LeaveOut(f.name, f.given)
		}
	}
}

const cacheControl = "cache_control"

// foreign looks for members that the gateway added to the history for other
// providers, and for their cache marks.
func (t *translation) foreign(req *chat.Request, raw []byte) {
	t.history = chat.HasPackedID(raw)
	marks := !t.Takes(cacheControl)
	noNames := slices.Contains(t.Server.Lacks, providers.LacksName)
	for i := range req.Messages {
		m := &req.Messages[i]
		t.history = t.history || m.ReasoningContent != "" || len(m.ReasoningDetails) > 0 || len(m.Images) > 0 ||
			len(m.CacheControl) > 0 || len(m.ToolCallID) > compose.LongestID || noNames && m.Name != "" ||
			t.Server.SystemRole && m.Role == "developer" || t.Server.CallIDs > 0 && (m.ToolCallID != "" || len(m.ToolCalls) > 0)
		t.NoteIgnored(providers.LacksName, noNames && m.Name != "")
		t.NoteIgnored("messages[].images", len(m.Images) > 0)
		t.NoteIgnored("messages[].reasoning_content", t.Server.Reasoning == "" && m.ReasoningContent != "" && len(m.ReasoningDetails) == 0)
		t.NoteIgnored("messages[].cache_control", marks && llm.Given(m.CacheControl))
		for _, c := range m.ToolCalls {
			t.history = t.history || c.ExtraContent != nil || len(c.ID) > compose.LongestID
		}
		for _, p := range m.Content.Parts {
			t.history = t.history || len(p.CacheControl) > 0
			t.NoteIgnored("messages[].content[].cache_control", marks && llm.Given(p.CacheControl))
		}
	}
	for _, tool := range req.Tools {
		t.tools = t.tools || len(tool.CacheControl) > 0
		t.NoteIgnored("tools[].cache_control", marks && llm.Given(tool.CacheControl))
	}
}

// pieces are the request, with the changes.
func (t *translation) pieces(raw []byte) [][]byte {
	if t.history || t.tools {
		h := historyOf(t.Server)
		if t.history {
			t.Change("messages", nil, h.array)
		}
		if t.tools {
			t.Change("tools", nil, h.array)
		}
	}
	return t.Body(raw)
}

const usageOnly = `{"include_usage":true}`

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
