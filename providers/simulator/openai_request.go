package simulator

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// openaiGrammar is the request of POST /v1/chat/completions.
var openaiGrammar = grammar{
	"request": {
		"model": "string !", "messages": "message@role[] !",
		"max_tokens": "integer 1..", "max_completion_tokens": "integer 1..",
		"temperature": "number 0..2", "top_p": "number 0..1", "n": "integer 1..128",
		"stream": "boolean", "stream_options": "streamOptions", "stop": "string|string[]",
		"frequency_penalty": "number -2..2", "presence_penalty": "number -2..2",
		"logit_bias": "object", "logprobs": "boolean", "top_logprobs": "integer 0..20", "seed": "integer",
		"user": "string", "safety_identifier": "string", "prompt_cache_key": "string",
		"prompt_cache_retention": "string in_memory in-memory 24h", "prompt_cache_options": "object",
		"tools": "tool@type[]", "tool_choice": "string|choice@type none auto required", "parallel_tool_calls": "boolean",
		"functions": "function[]", "function_call": "string|named none auto",
		"response_format":  "format@type",
		"reasoning_effort": "string none minimal low medium high xhigh max", "verbosity": "string low medium high",
		"modalities": "string[] text audio", "audio": "object", "prediction": "object",
		"service_tier": "string auto default flex scale priority fast",
		"store":        "boolean", "metadata": "object", "web_search_options": "object", "moderation": "object",
	},
	"streamOptions":     {"include_usage": "boolean", "include_obfuscation": "boolean"},
	"message:system":    {"role": "string", "content": "string|textPart@type[] !", "name": "string"},
	"message:developer": {"role": "string", "content": "string|textPart@type[] !", "name": "string"},
	"message:user":      {"role": "string", "content": "string|part@type[] !", "name": "string"},
	"message:assistant": {
		"role": "string", "content": "string|answerPart@type[]", "name": "string", "refusal": "string",
		"tool_calls": "toolCall@type[]", "function_call": "calledFunction", "audio": "object", "annotations": "any[]",
	},
	"message:tool":         {"role": "string", "content": "string|textPart@type[] !", "tool_call_id": "string !"},
	"message:function":     {"role": "string", "content": "string", "name": "string !"},
	"textPart:text":        {"type": "string", "text": "string !", "prompt_cache_breakpoint": "any"},
	"answerPart:text":      {"type": "string", "text": "string !", "prompt_cache_breakpoint": "any"},
	"answerPart:refusal":   {"type": "string", "refusal": "string !"},
	"part:text":            {"type": "string", "text": "string !", "prompt_cache_breakpoint": "any"},
	"part:image_url":       {"type": "string", "image_url": "image !", "prompt_cache_breakpoint": "any"},
	"part:input_audio":     {"type": "string", "input_audio": "sound !", "prompt_cache_breakpoint": "any"},
	"part:file":            {"type": "string", "file": "file !", "prompt_cache_breakpoint": "any"},
	"image":                {"url": "string !", "detail": "string auto low high original"},
	"sound":                {"data": "string !", "format": "string ! wav mp3"},
	"file":                 {"file_data": "string", "filename": "string", "file_id": "string"},
	"toolCall:function":    {"type": "string", "id": "string !", "function": "calledFunction !"},
	"toolCall:custom":      {"type": "string", "id": "string !", "custom": "calledCustom !"},
	"calledFunction":       {"name": "string !", "arguments": "string !"},
	"calledCustom":         {"name": "string !", "input": "string !"},
	"tool:function":        {"type": "string", "function": "function !"},
	"tool:custom":          {"type": "string", "custom": "custom !"},
	"function":             {"name": "string !", "description": "string", "parameters": "object", "strict": "boolean"},
	"custom":               {"name": "string !", "description": "string", "format": "object"},
	"choice:function":      {"type": "string", "function": "named !"},
	"choice:custom":        {"type": "string", "custom": "named !"},
	"choice:allowed_tools": {"type": "string", "allowed_tools": "allowed !"},
	"named":                {"name": "string !"},
	"allowed":              {"mode": "string ! auto required", "tools": "choice@type[] !"},
	"format:text":          {"type": "string"},
	"format:json_object":   {"type": "string"},
	"format:json_schema":   {"type": "string", "json_schema": "schema !"},
	"schema":               {"name": "string !", "description": "string", "schema": "object", "strict": "boolean"},
}

type openaiRequest struct {
	Model               string           `json:"model"`
	Messages            []openaiMessage  `json:"messages"`
	MaxTokens           *int             `json:"max_tokens"`
	MaxCompletionTokens *int             `json:"max_completion_tokens"`
	Temperature         *float64         `json:"temperature"`
	TopP                *float64         `json:"top_p"`
	N                   *int             `json:"n"`
	Stream              bool             `json:"stream"`
	StreamOptions       *openaiStreaming `json:"stream_options"`
	Stop                jsontext.Value   `json:"stop"`
	Logprobs            bool             `json:"logprobs"`
	TopLogprobs         *int             `json:"top_logprobs"`
	Tools               []openaiTool     `json:"tools"`
	ToolChoice          jsontext.Value   `json:"tool_choice"`
	ParallelToolCalls   *bool            `json:"parallel_tool_calls"`
	Functions           []openaiFunction `json:"functions"`
	FunctionCall        jsontext.Value   `json:"function_call"`
	ResponseFormat      *openaiFormat    `json:"response_format"`
	ReasoningEffort     string           `json:"reasoning_effort"`
	Modalities          []string         `json:"modalities"`
	WebSearchOptions    jsontext.Value   `json:"web_search_options"`
}

type openaiStreaming struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

type openaiMessage struct {
	Role         string           `json:"role"`
	Name         string           `json:"name"`
	Content      jsontext.Value   `json:"content"`
	ToolCallID   string           `json:"tool_call_id"`
	ToolCalls    []openaiToolCall `json:"tool_calls"`
	FunctionCall *openaiCalled    `json:"function_call"`
}

type openaiToolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function *openaiCalled  `json:"function,omitzero"`
	Custom   *openaiWritten `json:"custom,omitzero"`
}

type openaiCalled struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openaiWritten struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

type openaiTool struct {
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
	Custom   openaiFunction `json:"custom"`
}

func (t openaiTool) name() string { return t.Function.Name + t.Custom.Name }

type openaiFunction struct {
	Name       string         `json:"name"`
	Parameters jsontext.Value `json:"parameters"`
	Strict     bool           `json:"strict"`
}

type openaiFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string         `json:"name"`
		Schema jsontext.Value `json:"schema"`
		Strict bool           `json:"strict"`
	} `json:"json_schema"`
}

type openaiChoice struct {
	Type         string         `json:"type"`
	Name         string         `json:"name"` // of the old function_call
	Function     openaiFunction `json:"function"`
	Custom       openaiFunction `json:"custom"`
	AllowedTools struct {
		Mode  string       `json:"mode"`
		Tools []openaiTool `json:"tools"`
	} `json:"allowed_tools"`
}

// prompt reads a request that passed all checks.
func (q *openaiRequest) prompt(m model) *prompt {
	p := &prompt{provider: "openai", model: q.Model, stops: stringOrList(q.Stop)}
	p.hash("model", q.Model)
	p.parallel = q.ParallelToolCalls == nil || *q.ParallelToolCalls
	for _, t := range q.Tools {
		p.addTool(tool{name: t.name(), schema: t.Function.Parameters, custom: t.Type == "custom"})
	}
	for _, f := range q.Functions {
		p.addTool(tool{name: f.Name, schema: f.Parameters})
		p.parallel = false
	}
	names := map[string]string{}
	for _, msg := range q.Messages {
		msg.tell(p, names)
		p.mark(true)
	}
	p.choice = q.choice()
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			p.limit = *n
		}
	}
	p.reasons = q.ReasoningEffort != "" && q.ReasoningEffort != "none"
	if f := q.ResponseFormat; f != nil && f.Type != "text" {
		p.asJSON, p.schema = true, f.JSONSchema.Schema
	}
	return p
}

// tell adds a message to the prompt; names are those of the calls by id.
func (m openaiMessage) tell(p *prompt, names map[string]string) {
	switch m.Role {
	case "system", "developer":
		p.hearSystem(m.text())
	case "assistant":
		p.hearAssistant(m.text())
		for _, c := range m.ToolCalls {
			names[c.ID] = c.called().Name
			p.note("call", c.called().Name+" "+c.called().Arguments)
		}
	case "tool":
		p.hearResult(names[m.ToolCallID], m.text())
	case "function":
		p.hearResult(m.Name, m.text())
	default:
		m.tellUser(p)
	}
}

func (m openaiMessage) tellUser(p *prompt) {
	if m.Content.Kind() == '"' {
		p.hearUser(text(m.Content))
		return
	}
	for _, part := range elements(m.Content) {
		switch text(member(part, "type")) {
		case "text":
			p.hearUser(text(member(part, "text")))
		case "image_url":
			p.seeImage(string(part))
		default:
			p.seeFile(string(part))
		}
	}
}

func (m openaiMessage) text() string {
	if m.Content.Kind() == '"' {
		return text(m.Content)
	}
	var said []string
	for _, part := range elements(m.Content) {
		said = append(said, text(member(part, "text")))
	}
	return strings.Join(said, "\n")
}

// called is a call of either kind.
func (c openaiToolCall) called() openaiCalled {
	switch {
	case c.Function != nil:
		return *c.Function
	case c.Custom != nil:
		return openaiCalled{c.Custom.Name, c.Custom.Input}
	}
	return openaiCalled{}
}

func (q *openaiRequest) choice() choice {
	raw := q.ToolChoice
	if len(q.Functions) > 0 {
		raw = q.FunctionCall
	}
	switch text(raw) {
	case "none":
		return choice{mode: choiceNone}
	case "required":
		return choice{mode: choiceForced}
	}
	given, ok := decodeChoice(raw)
	if !ok {
		return choice{}
	}
	if given.Type != "allowed_tools" {
		return choice{mode: choiceForced, names: []string{given.Name + given.Function.Name + given.Custom.Name}}
	}
	c := choice{}
	if given.AllowedTools.Mode == "required" {
		c.mode = choiceForced
	}
	for _, t := range given.AllowedTools.Tools {
		c.names = append(c.names, t.name())
	}
	return c
}
