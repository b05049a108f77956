package chat

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"modelgateway/api"
)

// functionName is OpenAI's rule for the names of functions and schemas.
var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

const longestName = 64

func isFunctionName(name string) bool {
	return len(name) <= longestName && functionName.MatchString(name)
}

var (
	thinkingTypes = []string{"enabled", "adaptive", "disabled"}
)

// validate checks everything that can be said without knowing the upstream, but
// for the messages: they have been checked while they were read.
func (r *Request) validate() error {
	if r.Model == "" {
		return api.Missing("model")
	}
	if len(r.Messages) == 0 {
		return api.Invalid(api.CodeMissingField, "messages", "messages is required, with at least one message")
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
	if err := api.CheckRanges(
		api.Range[float64]{Param: "temperature", Value: r.Temperature, Low: 0, Top: 2},
		api.Range[float64]{Param: "top_p", Value: r.TopP, Low: 0, Top: 1},
		api.Range[float64]{Param: "frequency_penalty", Value: r.FrequencyPenalty, Low: -2, Top: 2},
		api.Range[float64]{Param: "presence_penalty", Value: r.PresencePenalty, Low: -2, Top: 2},
	); err != nil {
		return err
	}
	return api.CheckRanges(
		api.Range[int64]{Param: "max_tokens", Value: r.MaxTokens, Low: 1, Top: math.MaxInt32},
		api.Range[int64]{Param: "max_completion_tokens", Value: r.MaxCompletionTokens, Low: 1, Top: math.MaxInt32},
		api.Range[int64]{Param: "top_k", Value: r.TopK, Low: 0, Top: math.MaxInt32},
		api.Range[int64]{Param: "n", Value: r.N, Low: 1, Top: 128},
		api.Range[int64]{Param: "top_logprobs", Value: r.TopLogprobs, Low: 0, Top: 20},
	)
}

func (r *Request) validateOptions() error {
	if r.StreamOptions != nil && !r.Stream {
		return api.Invalid(api.CodeInvalidValue, "stream_options", "stream_options is only allowed when stream is true")
	}
	if r.TopLogprobs != nil && *r.TopLogprobs > 0 && !r.Logprobs {
		return api.Invalid(api.CodeInvalidValue, "top_logprobs", "top_logprobs is only allowed when logprobs is true")
	}
	if r.Thinking != nil && !slices.Contains(thinkingTypes, r.Thinking.Type) {
		return api.NotOneOf("thinking.type", r.Thinking.Type, thinkingTypes)
	}
	if r.Thinking != nil && r.Thinking.BudgetTokens < 0 {
		return api.Invalid(api.CodeInvalidValue, "thinking.budget_tokens", "thinking.budget_tokens must not be negative")
	}
	return r.ResponseFormat.validate()
}

func (f *ResponseFormat) validate() error {
	switch {
	case f == nil:
		return nil
	case f.Type == "":
		return api.Missing("response_format.type")
	case f.Type != "json_schema":
		return nil
	}
	if f.JSONSchema == nil {
		return api.Missing("response_format.json_schema")
	}
	if !isFunctionName(f.JSONSchema.Name) {
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
		return api.Missing(at + ".type")
	case t.Type != "function":
		return nil // only OpenAI knows what is inside
	case t.Function == nil:
		return api.Missing(at + ".function")
	}
	return t.Function.validate(at + ".function")
}

func (f *Function) validate(at string) error {
	if f.Name == "" {
		return api.Missing(at + ".name")
	}
	if !isFunctionName(f.Name) {
		return badName(at+".name", f.Name)
	}
	return notObject(at+".parameters", f.Parameters)
}

func (t *ToolChoice) validate(at string, names []string) error {
	if t == nil || t.Mode == "none" || t.Mode == "auto" || t.Mode == "custom" {
		return nil
	}
	if t.Type != "" && !slices.Contains(choiceTypes, t.Type) || t.Type == "" && !slices.Contains(choiceModes, t.Mode) {
		return nil // see unknownValue
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
