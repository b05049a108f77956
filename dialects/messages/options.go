package messages

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// maxStops is how many stop sequences are read at most.
const maxStops = 100

var (
	thinkingTypes = []string{"enabled", "adaptive", "between_tools", "disabled"}
	efforts       = []string{"low", "medium", "high", "xhigh", "max"}
	serviceTiers  = []string{"auto", "standard_only"}
)

// minBudget is the least budget of thinking, in tokens.
const minBudget = 1024

// options fills in the common form with what may be wrong as far as Anthropic is
// concerned: what has not the expected form is left out, and Conversation refuses it.
func (r *Request) options() {
	c := &r.common
	c.Temperature, c.TopP = r.float(memberTemperature), r.float(memberTopP)
	if n, ok := jsonbytes.Integer(r.members[memberTopK]); ok {
		c.TopK = new(n)
	}
	for stop := range jsonbytes.Elements(r.members[memberStopSequences]) {
		if len(c.Stop) == maxStops {
			break
		}
		if stop.Kind() == jsontext.KindString {
			c.Stop = append(c.Stop, jsonbytes.Text(stop))
		}
	}
	r.thinking()
	effort := jsonbytes.Member(r.turn, "effort") // of the last turn that has one: it holds from there on
	if effort.Kind() != jsontext.KindString {
		effort = jsonbytes.Member(r.members[memberOutputConfig], "effort")
	}
	c.Effort = jsonbytes.Text(effort)
	if string(jsonbytes.Member(r.members[memberToolChoice], "disable_parallel_tool_use")) == "true" {
		c.ParallelCalls, c.SingleCall = new(bool), true
	}
	c.SafetyIdentifier = jsonbytes.Text(jsonbytes.Member(r.members[memberMetadata], "user_id"))
	c.Session, c.Affinity = session(c.SafetyIdentifier), c.SafetyIdentifier
	c.Project = jsonbytes.Text(jsonbytes.Member(r.members[memberMetadata], "project"))
	if tier := jsonbytes.Text(r.members[memberServiceTier]); !slices.Contains(serviceTiers, tier) {
		c.ServiceTier = tier // of which only Anthropic knows what it costs
	}
	c.Cache = llm.Present(r.members[memberCacheControl])
	c.Speed, c.Geo = jsonbytes.Text(r.members[memberSpeed]), jsonbytes.Text(r.members[memberInferenceGeo])
	if r.size.Hosted { // there may be tools that run at Anthropic
		r.hosted()
	}
}

func (r *Request) float(m member) *float64 {
	f, ok := jsonbytes.Float(r.members[m])
	if !ok {
		return nil
	}
	return new(f)
}

// thinking reads how the model shall think. A client that does not ask for it reads the
// first block of an answer as its text.
func (r *Request) thinking() {
	c, asked := &r.common, r.members[memberThinking]
	c.NoThoughts = true
	if asked.Kind() != jsontext.KindBeginObject {
		return
	}
	t := llm.Thinking{Type: jsonbytes.Text(jsonbytes.Member(asked, "type")), Display: jsonbytes.Text(jsonbytes.Member(asked, "display"))}
	t.BudgetTokens, _ = jsonbytes.Integer(jsonbytes.Member(asked, "budget_tokens"))
	if t.Type == "between_tools" { // other models do not tell the two apart
		t.Type = "adaptive"
	}
	c.Thinking, c.NoThoughts = &t, t.Type == "disabled"
}

// session is the client's name of a conversation: Claude Code writes it into the name of
// the user, as JSON. Empty where there is none.
func session(user string) string {
	if !strings.HasPrefix(user, "{") || !jsontext.Value(user).IsValid() {
		return ""
	}
	return jsonbytes.Text(jsonbytes.Member(jsontext.Value(user), "session_id"))
}

// checkOptions is the error for the first option that no provider takes; nil where there
// is none.
func (r *Request) checkOptions() *api.Error {
	for _, check := range []func() *api.Error{
		r.checkThread, r.checkPlace, r.checkSampling, r.checkStops, r.checkThinking, r.checkOutput, r.checkMetadata,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace refuses what runs at Anthropic, or says where a model must run.
func (r *Request) checkPlace() *api.Error {
	if n := r.common.MaxOutput; n != nil && *n == 0 {
		return unsupported("max_tokens", "must be at least 1: only Anthropic models accept 0")
	}
	for _, m := range []member{memberContainer, memberMCPServers, memberSafeguards} {
		if body.Asks(r.members[m]) {
			return unsupported(table.Name(m), "only Anthropic models support this member: leave it out, or use one of them")
		}
	}
	if geo := jsonbytes.Text(r.members[memberInferenceGeo]); geo != "" && geo != "global" {
		return unsupported("inference_geo", "only an Anthropic model can be bound to a region")
	}
	if tier := r.members[memberServiceTier]; llm.Given(tier) && !slices.Contains(serviceTiers, jsonbytes.Text(tier)) {
		return notOneOf("service_tier", serviceTiers)
	}
	return nil
}

func (r *Request) checkSampling() *api.Error {
	for _, m := range []member{memberTemperature, memberTopP} {
		value := r.members[m]
		if !llm.Given(value) {
			continue
		}
		f, ok := jsonbytes.Float(value)
		switch {
		case !ok:
			return invalid(table.Name(m), "Input should be a valid number")
		case f < 0:
			return invalid(table.Name(m), "Input should be greater than or equal to 0")
		case f > 1:
			return invalid(table.Name(m), "Input should be less than or equal to 1")
		}
	}
	value := r.members[memberTopK]
	if n, ok := jsonbytes.Integer(value); llm.Given(value) && (!ok || n < 0) {
		return invalid("top_k", "Input should be a valid integer that is not negative")
	}
	return nil
}

func (r *Request) checkStops() *api.Error {
	value := r.members[memberStopSequences]
	if !llm.Given(value) {
		return nil
	}
	if value.Kind() != jsontext.KindBeginArray {
		return invalid("stop_sequences", "Input should be a valid list")
	}
	n := 0
	for stop := range jsonbytes.Elements(value) {
		if n++; n > maxStops {
			return tooMany("stop_sequences", maxStops)
		}
		if stop.Kind() != jsontext.KindString {
			return invalid("stop_sequences", "Input should be a list of strings")
		}
		if strings.TrimSpace(jsonbytes.Text(stop)) == "" {
			return invalid("stop_sequences", "each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

func (r *Request) checkThinking() *api.Error {
	value := r.members[memberThinking]
	if !llm.Given(value) {
		return nil
	}
	if value.Kind() != jsontext.KindBeginObject {
		return invalid("thinking", "Input should be a valid dictionary")
	}
	kind := jsonbytes.Text(jsonbytes.Member(value, "type"))
	if !slices.Contains(thinkingTypes, kind) {
		return notOneOf("thinking.type", thinkingTypes)
	}
	if kind != "enabled" {
		return nil
	}
	budget := jsonbytes.Member(value, "budget_tokens")
	n, ok := jsonbytes.Integer(budget)
	switch {
	case !llm.Given(budget):
		return missing("thinking.budget_tokens")
	case !ok:
		return invalid("thinking.budget_tokens", "Input should be a valid integer")
	case n < minBudget:
		return invalid("thinking.budget_tokens", "Input should be greater than or equal to %d", minBudget)
	}
	return nil
}

func (r *Request) checkOutput() *api.Error {
	value := r.members[memberOutputConfig]
	if llm.Given(value) && value.Kind() != jsontext.KindBeginObject {
		return invalid("output_config", "Input should be a valid dictionary")
	}
	if effort := jsonbytes.Member(value, "effort"); llm.Given(effort) && !slices.Contains(efforts, jsonbytes.Text(effort)) {
		return notOneOf("output_config.effort", efforts)
	}
	if r.common.Effort != "" && !slices.Contains(efforts, r.common.Effort) {
		return notOneOf("messages[].output_config.effort", efforts)
	}
	return nil
}

func (r *Request) checkMetadata() *api.Error {
	value := r.members[memberMetadata]
	if llm.Given(value) && value.Kind() != jsontext.KindBeginObject {
		return invalid("metadata", "Input should be a valid dictionary")
	}
	if id := jsonbytes.Member(value, "user_id"); llm.Given(id) && id.Kind() != jsontext.KindString {
		return invalid("metadata.user_id", "Input should be a valid string")
	}
	return nil
}

// format is the format of the answer; nil for text.
func (r *Request) format() (*llm.Format, *api.Error) {
	path, value := "output_config.format", jsonbytes.Member(r.members[memberOutputConfig], "format")
	if !llm.Given(value) {
		path, value = "output_format", r.members[memberOutputFormat]
	}
	if !llm.Given(value) {
		return nil, nil
	}
	if kind := jsonbytes.Text(jsonbytes.Member(value, "type")); kind != "json_schema" {
		return nil, invalid(path+".type", "Input should be 'json_schema'")
	}
	schema := jsonbytes.Member(value, "schema")
	switch {
	case !llm.Given(schema):
		return nil, missing(path + ".schema")
	case schema.Kind() != jsontext.KindBeginObject:
		return nil, invalid(path+".schema", "Input should be a valid dictionary")
	}
	strict := true // Anthropic keeps to the schema
	return &llm.Format{Name: "output", Schema: schema, Strict: &strict}, nil
}
