package chat

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"modelgateway/models/api"
)

// functionName is OpenAI's rule for the names of functions and schemas.
var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

var (
	efforts       = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	thinkingTypes = []string{"enabled", "adaptive", "disabled"}
	formatTypes   = []string{"text", "json_object", "json_schema"}
	choiceModes   = []string{"none", "auto", "required", "named", "custom", "allowed"}
)

// validate checks everything that can be said without knowing the upstream, but
// for the messages: they have been checked while they were read.
func (r *Request) validate() error {
	if r.Model == "" {
		return missing("model")
	}
	if len(r.Messages) == 0 {
		return missing("messages")
	}
	if err := r.validateNumbers(); err != nil {
		return err
	}
	if err := r.validateOptions(); err != nil {
		return err
	}
	return r.validateTools()
}

func (r *Request) validateNumbers() error {
	for _, f := range []struct {
		name     string
		value    *float64
		low, top float64
	}{
		{"temperature", r.Temperature, 0, 2},
		{"top_p", r.TopP, 0, 1},
		{"frequency_penalty", r.FrequencyPenalty, -2, 2},
		{"presence_penalty", r.PresencePenalty, -2, 2},
	} {
		if f.value != nil && (*f.value < f.low || *f.value > f.top) {
			return api.Invalid(api.CodeInvalidValue, f.name, "%s must be between %v and %v, not %v", f.name, f.low, f.top, *f.value)
		}
	}
	for _, f := range []struct {
		name     string
		value    *int64
		low, top int64
	}{
		{"max_tokens", r.MaxTokens, 1, math.MaxInt32},
		{"max_completion_tokens", r.MaxCompletionTokens, 1, math.MaxInt32},
		{"top_k", r.TopK, 0, math.MaxInt32},
		{"n", r.N, 1, 128},
		{"top_logprobs", r.TopLogprobs, 0, 20},
	} {
		if f.value != nil && (*f.value < f.low || *f.value > f.top) {
			return api.Invalid(
				api.CodeInvalidValue, f.name, "%s must be an integer between %d and %d, not %d", f.name, f.low, f.top,
				*f.value,
			)
		}
	}
	return nil
}

func (r *Request) validateOptions() error {
	if r.StreamOptions != nil && !r.Stream {
		return api.Invalid(api.CodeInvalidValue, "stream_options", "stream_options is only allowed when stream is true")
	}
	if r.TopLogprobs != nil && *r.TopLogprobs > 0 && !r.Logprobs {
		return api.Invalid(api.CodeInvalidValue, "top_logprobs", "top_logprobs is only allowed when logprobs is true")
	}
	if r.ReasoningEffort != "" && !slices.Contains(efforts, r.ReasoningEffort) {
		return notOneOf("reasoning_effort", r.ReasoningEffort, efforts)
	}
	if r.Thinking != nil && !slices.Contains(thinkingTypes, r.Thinking.Type) {
		return notOneOf("thinking.type", r.Thinking.Type, thinkingTypes)
	}
	if r.Thinking != nil && r.Thinking.BudgetTokens < 0 {
		return api.Invalid(api.CodeInvalidValue, "thinking.budget_tokens", "thinking.budget_tokens must not be negative")
	}
	return r.ResponseFormat.validate()
}

func (f *ResponseFormat) validate() error {
	if f == nil {
		return nil
	}
	if !slices.Contains(formatTypes, f.Type) {
		return notOneOf("response_format.type", f.Type, formatTypes)
	}
	if f.Type != "json_schema" {
		return nil
	}
	if f.JSONSchema == nil {
		return missing("response_format.json_schema")
	}
	if !functionName.MatchString(f.JSONSchema.Name) {
		return badName("response_format.json_schema.name", f.JSONSchema.Name)
	}
	return notObject("response_format.json_schema.schema", f.JSONSchema.Schema)
}

func (r *Request) validateTools() error {
	for i := range r.Tools {
		if err := r.Tools[i].validate(fmt.Sprintf("tools[%d]", i)); err != nil {
			return err
		}
	}
	for i := range r.Functions {
		if err := r.Functions[i].validate(fmt.Sprintf("functions[%d]", i)); err != nil {
			return err
		}
	}
	if err := r.ToolChoice.validate("tool_choice", r.toolNames()); err != nil {
		return err
	}
	var names []string
	for _, f := range r.Functions {
		names = append(names, f.Name)
	}
	return r.FunctionCall.validate("function_call", names)
}

func (r *Request) toolNames() []string {
	var names []string
	for _, t := range r.Tools {
		if t.Function != nil {
			names = append(names, t.Function.Name)
		}
	}
	return names
}

func (t *Tool) validate(at string) error {
	switch {
	case t.Type == "":
		return missing(at + ".type")
	case t.Type == "custom":
		return nil // only OpenAI knows what is inside
	case t.Type != "function":
		return notOneOf(at+".type", t.Type, []string{"function", "custom"})
	case t.Function == nil:
		return missing(at + ".function")
	}
	return t.Function.validate(at + ".function")
}

func (f *Function) validate(at string) error {
	if f.Name == "" {
		return missing(at + ".name")
	}
	if !functionName.MatchString(f.Name) {
		return badName(at+".name", f.Name)
	}
	return notObject(at+".parameters", f.Parameters)
}

func (t *ToolChoice) validate(at string, names []string) error {
	if t == nil || t.Mode == "none" || t.Mode == "auto" || t.Mode == "custom" {
		return nil
	}
	if !slices.Contains(choiceModes, t.Mode) {
		return notOneOf(at, t.Mode, []string{"none", "auto", "required"})
	}
	if len(names) == 0 && t.Mode != "allowed" && t.Mode != "required" {
		return api.Invalid(api.CodeInvalidValue, at, "%s names a function, but the request has none", at)
	}
	if t.Mode == "named" && !slices.Contains(names, t.Name) {
		return api.Invalid(api.CodeInvalidValue, at, "%s names the function %q, which is not among the tools", at, api.Clip(t.Name))
	}
	if len(t.Allowed) == 0 {
		return nil
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for _, name := range t.Allowed {
		if name != "" && !known[name] {
			return api.Invalid(api.CodeInvalidValue, at, "%s allows the function %q, which is not among the tools", at, api.Clip(name))
		}
	}
	return nil
}

func missing(param string) *api.Error {
	return api.Invalid(api.CodeMissingField, param, "%s is required", param)
}

func notOneOf(param, value string, allowed []string) *api.Error {
	if value == "" {
		return missing(param)
	}
	return api.Invalid(api.CodeInvalidValue, param, "%s must be one of %s, not %q", param, strings.Join(allowed, ", "), api.Clip(value))
}

func badName(param, name string) *api.Error {
	return api.Invalid(
		api.CodeInvalidValue, param, "%s must be 1 to 64 letters, digits, underscores or dashes, not %q", param,
		api.Clip(name),
	)
}

func notObject(param string, raw []byte) error {
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '{' {
		return nil
	}
	return api.Invalid(api.CodeInvalidValue, param, "%s must be an object", param)
}
