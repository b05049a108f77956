package openai

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Request has the members of a chat completions request that the answer depends
// on.
type Request struct {
	Model               string         `json:"model"`
	Messages            []Message      `json:"messages"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	N                   *int           `json:"n"`
	Stream              bool           `json:"stream"`
	StreamOptions       *StreamOptions `json:"stream_options"`
	Stop                jsontext.Value `json:"stop"`
	Logprobs            bool           `json:"logprobs"`
	TopLogprobs         *int           `json:"top_logprobs"`
	Tools               []Tool         `json:"tools"`
	ToolChoice          jsontext.Value `json:"tool_choice"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls"`
	Functions           []Function     `json:"functions"`
	FunctionCall        jsontext.Value `json:"function_call"`
	ResponseFormat      *Format        `json:"response_format"`
	ReasoningEffort     string         `json:"reasoning_effort"`

	answersAs string // the name of the model in the answer
}

// StreamOptions says what the chunks of a stream hold.
type StreamOptions struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// Message is one of a conversation.
type Message struct {
	Role         string          `json:"role"`
	Name         string          `json:"name"`
	Content      jsontext.Value  `json:"content"`
	ToolCallID   string          `json:"tool_call_id"`
	ToolCalls    []ToolCall      `json:"tool_calls"`
	FunctionCall *CalledFunction `json:"function_call"`
}

// ToolCall is a call of a function or of a custom tool.
type ToolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function *CalledFunction `json:"function,omitzero"`
	Custom   *CalledCustom   `json:"custom,omitzero"`
}

// CalledFunction is a function with the JSON text of its arguments.
type CalledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// CalledCustom is a custom tool with its input, which is any text.
type CalledCustom struct {
	Name  string `json:"name"`
	Input string `json:"input"`
}

// Called is the call as one of a function.
func (c ToolCall) Called() CalledFunction {
	switch {
	case c.Function != nil:
		return *c.Function
	case c.Custom != nil:
		return CalledFunction{c.Custom.Name, c.Custom.Input}
	}
	return CalledFunction{}
}

// Tool is a function or a custom tool that may be called.
type Tool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
	Custom   Function `json:"custom"`
}

// Name is that of either kind of tool.
func (t Tool) Name() string { return t.Function.Name + t.Custom.Name }

// Function is a tool's definition.
type Function struct {
	Name       string         `json:"name"`
	Parameters jsontext.Value `json:"parameters"`
	Strict     bool           `json:"strict"`
}

// Format says how to write an answer.
type Format struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string         `json:"name"`
		Schema jsontext.Value `json:"schema"`
		Strict bool           `json:"strict"`
	} `json:"json_schema"`
}

func (q *Request) choices() int {
	const most = 128
	if q.N == nil {
		return 1
	}
	return min(max(*q.N, 1), most)
}

// Prompt reads the conversation and the options of the answer.
func (q *Request) Prompt() *reply.Prompt {
	p := reply.New(Name, q.Model)
	p.Stops = rawjson.Strings(q.Stop)
	p.Parallel = q.ParallelToolCalls == nil || *q.ParallelToolCalls
	for _, t := range q.Tools {
		p.AddTool(reply.Tool{Name: t.Name(), Schema: t.Function.Parameters, Custom: t.Type == "custom"})
	}
	for _, f := range q.Functions {
		p.AddTool(reply.Tool{Name: f.Name, Schema: f.Parameters})
		p.Parallel = false
	}
	calls := map[string]string{}
	for _, m := range q.Messages {
		m.addTo(p, calls)
		p.EndPrefix(true)
	}
	p.Choice = q.Choice()
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			p.MaxTokens = *n
		}
	}
	p.Reasons = q.ReasoningEffort != "" && q.ReasoningEffort != "none"
	if f := q.ResponseFormat; f != nil && f.Type != "text" {
		p.JSON, p.Schema = true, f.JSONSchema.Schema
	}
	return p
}

// addTo adds the message to a prompt; calls are the names of the tools by the
// ids of their calls.
func (m Message) addTo(p *reply.Prompt, calls map[string]string) {
	switch m.Role {
	case "system", "developer":
		p.AddSystem(m.Text())
	case "assistant":
		p.AddAssistant(m.Text())
		for _, c := range m.ToolCalls {
			called := c.Called()
			calls[c.ID] = called.Name
			p.AddCall(called.Name, called.Arguments)
		}
	case "tool":
		p.AddResult(calls[m.ToolCallID], m.Text())
	case "function":
		p.AddResult(m.Name, m.Text())
	default:
		m.addUser(p)
	}
}

func (m Message) addUser(p *reply.Prompt) {
	if m.Content.Kind() == '"' {
		p.AddUser(jsonbytes.Text(m.Content))
		return
	}
	for _, part := range rawjson.Elements(m.Content) {
		switch rawjson.GetString(part, "type") {
		case "text":
			p.AddUser(rawjson.GetString(part, "text"))
		case "image_url":
			p.AddImage(string(part))
		default:
			p.AddFile(string(part))
		}
	}
}

// Text is the content without its images and files.
func (m Message) Text() string {
	if m.Content.Kind() == '"' {
		return jsonbytes.Text(m.Content)
	}
	var texts []string
	for _, part := range rawjson.Elements(m.Content) {
		texts = append(texts, rawjson.GetString(part, "text"))
	}
	return strings.Join(texts, "\n")
}

type toolChoice struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"` // of the former function_call
	Function     Function `json:"function"`
	Custom       Function `json:"custom"`
	AllowedTools struct {
		Mode  string `json:"mode"`
		Tools []Tool `json:"tools"`
	} `json:"allowed_tools"`
}

// Choice reads tool_choice, or function_call where there are functions.
func (q *Request) Choice() reply.ToolChoice {
	raw := q.ToolChoice
	if len(q.Functions) > 0 {
		raw = q.FunctionCall
	}
	switch jsonbytes.Text(raw) {
	case "none":
		return reply.ToolChoice{Mode: reply.ChoiceNone}
	case "required":
		return reply.ToolChoice{Mode: reply.ChoiceForced}
	}
	var c toolChoice
	if raw.Kind() != '{' || json.Unmarshal(raw, &c) != nil {
		return reply.ToolChoice{}
	}
	if c.Type != "allowed_tools" {
		return reply.ToolChoice{Mode: reply.ChoiceForced, Names: []string{c.Name + c.Function.Name + c.Custom.Name}}
	}
	allowed := reply.ToolChoice{}
	if c.AllowedTools.Mode == "required" {
		allowed.Mode = reply.ChoiceForced
	}
	for _, t := range c.AllowedTools.Tools {
		allowed.Names = append(allowed.Names, t.Name())
	}
	return allowed
}

// checkModel refuses what is too long for the model, and pictures that it does not take.
func (q *Request) checkModel(m wire.Model, p *reply.Prompt) *wire.Failure {
	for i, message := range q.Messages {
		for at, part := range rawjson.Elements(message.Content) {
			if m.Blind && rawjson.GetString(part, "type") == "image_url" {
				return Refusal(fmt.Sprintf("messages.[%d].content.[%d].type", i, at), "",
					"Invalid content type. image_url is only supported by certain models.")
			}
		}
	}
	if p.Tokens() > m.Context {
		return Refusal("messages", "context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. "+
			"However, your messages resulted in %d tokens. Please reduce the length of the messages.", m.Context, p.Tokens()))
	}
	if p.MaxTokens > m.Output {
		param := "max_completion_tokens"
		if q.MaxTokens != nil {
			param = "max_tokens"
		}
		return Refusal(param, "invalid_value", fmt.Sprintf("%s is too large: %d. "+
			"This model supports at most %d completion tokens, whereas you provided %d.", param, p.MaxTokens, m.Output, p.MaxTokens))
	}
	return nil
}
