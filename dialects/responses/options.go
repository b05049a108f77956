package responses

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// logprobs is the value of include that asks for them.
const logprobs = "message.output_text.logprobs"

// options fills in the common form with what may be wrong as far as OpenAI is concerned:
// what has not the expected form is left out, and Conversation refuses it.
func (r *Request) options() {
	c := &r.common
	c.Temperature, c.TopP = r.float(memberTemperature), r.float(memberTopP)
	if n, ok := jsonbytes.Integer(r.members[memberTopLogprobs]); ok && n > 0 {
		c.TopLogprobs, c.Logprobs = new(n), true
	}
	c.Logprobs = c.Logprobs || r.includes(logprobs)
	if r.members[memberParallelToolCalls].Kind() == jsontext.KindFalse {
		c.ParallelCalls, c.SingleCall = new(bool), true
	}
	r.reasoning()
	c.User, c.SafetyIdentifier = jsonbytes.Text(r.members[memberUser]), jsonbytes.Text(r.members[memberSafetyIdentifier])
	c.CacheKey = jsonbytes.Text(r.members[memberPromptCacheKey])
	c.Affinity = jsonbytes.Text(jsonbytes.Member(r.members[memberMetadata], "user_id"))
	c.Project = jsonbytes.Text(jsonbytes.Member(r.members[memberMetadata], "project"))
	if tier := jsonbytes.Text(r.members[memberServiceTier]); tier != "auto" {
		c.ServiceTier = tier
	}
	if c.CacheKey != "" && !r.prompt.marked && jsonbytes.Text(r.cacheOption("mode")) != "explicit" {
		c.Cache = r.cacheMark() // other providers cache only what is marked
	}
	if r.prompt.size.Hosted || r.prompt.shell { // there may be tools that run at OpenAI
		r.hosted()
	}
}

func (r *Request) cacheOption(name string) jsontext.Value {
	return jsonbytes.Member(r.members[memberPromptCacheOptions], name)
}

// cacheMark is a cache mark in Anthropic's words.
func (r *Request) cacheMark() jsontext.Value {
	if jsonbytes.Text(r.members[memberPromptCacheRetention]) == "24h" || jsonbytes.Text(r.cacheOption("ttl")) == "12h" {
		return jsontext.Value(`{"type":"ephemeral","ttl":"1h"}`)
	}
	return jsontext.Value(`{"type":"ephemeral"}`)
}

func (r *Request) float(m member) *float64 {
	f, ok := jsonbytes.Float(r.members[m])
	if !ok {
		return nil
	}
	return new(f)
}

// includes says whether the client asks for a part of the answer.
func (r *Request) includes(name string) bool {
	for value := range jsonbytes.Elements(r.members[memberInclude]) {
		if jsonbytes.Text(value) == name {
			return true
		}
	}
	return false
}

// setting is a member of the settings that an item of the input may change, and whether the
// item has.
func (r *Request) setting(m member, name string) (value jsontext.Value, changed bool) {
	if value = jsonbytes.Member(jsonbytes.Member(r.prompt.update, table.Name(m)), name); llm.Given(value) {
		return value, true
	}
	return jsonbytes.Member(r.members[m], name), false
}

// reasoning reads how the model shall reason, and whether the client wants to read it.
func (r *Request) reasoning() {
	effort, _ := r.setting(memberReasoning, "effort")
	r.common.Effort = jsonbytes.Text(effort)
	summary, _ := r.setting(memberReasoning, "summary")
	if !llm.Given(summary) {
		summary, _ = r.setting(memberReasoning, "generate_summary")
	}
	t := llm.Thinking{Display: "omitted"}
	switch {
	case llm.Given(summary):
		t.Type, t.Display = "adaptive", "summarized"
	case r.common.Effort == "":
		return
	}
	if r.common.Effort != "none" {
		r.common.Thinking = &t
	}
}

// checkOptions is the error for the first option that no provider takes, or that only
// OpenAI has and that cannot be left out; nil where there is none.
func (r *Request) checkOptions() *api.Error {
	for _, check := range []func() *api.Error{
		r.checkPlace, r.checkLimits, r.checkSampling, r.checkReasoning, r.checkText, r.checkMetadata,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace refuses what OpenAI keeps, and what only OpenAI does.
func (r *Request) checkPlace() *api.Error {
	for _, m := range []member{memberConversation, memberPrompt} {
		if body.Asks(r.members[m]) {
			return unsupported(table.Name(m), "%s names an object that OpenAI keeps: leave it out, or use a model of OpenAI",
				table.Name(m))
		}
	}
	policy := jsonbytes.Member(r.members[memberModeration], "policy")
	for _, of := range []string{"input", "output"} {
		if jsonbytes.Text(jsonbytes.Member(jsonbytes.Member(policy, of), "mode")) == "block" {
			return unsupported("moderation.policy."+of, "only OpenAI blocks by its moderation: it needs a model of OpenAI")
		}
	}
	if r.cacheOption("prewarm").Kind() == jsontext.KindTrue {
		return unsupported("prompt_cache_options.prewarm", "only OpenAI fills its caches without an answer")
	}
	return nil
}

// minOutput is the least max_output_tokens of OpenAI's API.
const minOutput = 16

func (r *Request) checkLimits() *api.Error {
	if n := r.common.MaxOutput; n != nil && *n < minOutput {
		return invalid("max_output_tokens", "max_output_tokens must be at least %d", minOutput)
	}
	if value := r.members[memberParallelToolCalls]; llm.Given(value) && !isBool(value) {
		return invalid("parallel_tool_calls", "parallel_tool_calls must be true or false")
	}
	if value := r.members[memberInclude]; llm.Given(value) && value.Kind() != jsontext.KindBeginArray {
		return invalid("include", "include must be an array")
	}
	return nil
}

func (r *Request) checkSampling() *api.Error {
	for _, bound := range []struct {
		of  member
		top float64
	}{{memberTemperature, 2}, {memberTopP, 1}} {
		value, name := r.members[bound.of], table.Name(bound.of)
		if f, ok := jsonbytes.Float(value); llm.Given(value) && (!ok || f < 0 || f > bound.top) {
			return invalid(name, "%s must be a number between 0 and %v", name, bound.top)
		}
	}
	const most = 20
	if value := r.members[memberTopLogprobs]; llm.Given(value) {
		if n, ok := jsonbytes.Integer(value); !ok || n < 0 || n > most {
			return invalid("top_logprobs", "top_logprobs must be an integer between 0 and %d", most)
		}
	}
	return nil
}

func (r *Request) checkReasoning() *api.Error {
	if value := r.members[memberReasoning]; llm.Given(value) && value.Kind() != jsontext.KindBeginObject {
		return invalid("reasoning", "reasoning must be an object")
	}
	if effort, _ := r.setting(memberReasoning, "effort"); llm.Given(effort) && !slices.Contains(efforts, r.common.Effort) {
		return api.NotOneOf(r.Path(llm.FieldEffort, llm.Anywhere), cmp.Or(jsonbytes.Text(effort), string(effort)), efforts)
	}
	return nil
}

func (r *Request) checkText() *api.Error {
	if value := r.members[memberText]; llm.Given(value) && value.Kind() != jsontext.KindBeginObject {
		return invalid("text", "text must be an object")
	}
	return nil
}

// checkMetadata checks what the answer repeats.
func (r *Request) checkMetadata() *api.Error {
	const most = 16
	value := r.members[memberMetadata]
	if llm.Given(value) && value.Kind() != jsontext.KindBeginObject {
		return invalid("metadata", "metadata must be an object")
	}
	n := 0
	for _, text := range jsonbytes.Members(value) {
		if n++; n > most {
			return api.TooMany("metadata", most)
		}
		if text.Kind() != jsontext.KindString {
			return invalid("metadata", "the values of metadata must be strings")
		}
	}
	return nil
}

// format is the format of the answer; nil for text.
func (r *Request) format() (*llm.Format, *api.Error) {
	value, _ := r.setting(memberText, "format")
	if !llm.Given(value) {
		return nil, nil
	}
	path := r.Path(llm.FieldFormat, llm.Anywhere)
	switch kind := jsonbytes.Text(jsonbytes.Member(value, "type")); kind {
	case "text":
		return nil, nil
	case "json_object":
		return &llm.Format{}, nil
	case "json_schema":
	default:
		return nil, api.NotOneOf(path+".type", kind, []string{"text", "json_schema", "json_object"})
	}
	f := &llm.Format{
		Name: jsonbytes.Text(jsonbytes.Member(value, "name")), Description: jsonbytes.Text(jsonbytes.Member(value, "description")),
		Schema: jsonbytes.Member(value, "schema"),
	}
	switch {
	case !llm.Given(f.Schema):
		return nil, api.Missing(path + ".schema")
	case f.Schema.Kind() != jsontext.KindBeginObject:
		return nil, invalid(path+".schema", "%s.schema must be an object", path)
	case f.Name == "":
		return nil, api.Missing(path + ".name")
	}
	if strict := jsonbytes.Member(value, "strict"); llm.Given(strict) {
		f.Strict = new(strict.Kind() == jsontext.KindTrue)
	}
	return f, nil
}
