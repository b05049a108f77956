package anthropic

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/simulator/reply"
)

// Request has the members of a messages request that the answer depends on.
type Request struct {
	Model         string         `json:"model"`
	MaxTokens     int            `json:"max_tokens"`
	Messages      []Message      `json:"messages"`
	System        jsontext.Value `json:"system"`
	StopSequences []string       `json:"stop_sequences"`
	Stream        bool           `json:"stream"`
	Tools         []Tool         `json:"tools"`
	ToolChoice    *ToolChoice    `json:"tool_choice"`
	Thinking      *Thinking      `json:"thinking"`
	OutputConfig  *Output        `json:"output_config"`
	OutputFormat  *Format        `json:"output_format"`
	CacheControl  jsontext.Value `json:"cache_control"`
	// Thread is the beta in which the server keeps the conversation.
	Thread jsontext.Value `json:"thread"`

	answersAs string // the name of the model in the answer
}

// Message is one of a conversation.
type Message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
}

// Block is a part of a message's content, of any type.
type Block struct {
	Type         string         `json:"type"`
	Text         string         `json:"text"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Input        jsontext.Value `json:"input"`
	ToolUseID    string         `json:"tool_use_id"`
	Content      jsontext.Value `json:"content"`
	Source       jsontext.Value `json:"source"`
	Thinking     string         `json:"thinking"`
	Signature    string         `json:"signature"`
	ToolName     string         `json:"tool_name"`
	CacheControl jsontext.Value `json:"cache_control"`
}

// Tool is one that may be called.
type Tool struct {
	// Type is empty or custom, or names a tool of Anthropic's.
	Type         string         `json:"type"`
	Name         string         `json:"name"`
	InputSchema  jsontext.Value `json:"input_schema"`
	Strict       bool           `json:"strict"`
	CacheControl jsontext.Value `json:"cache_control"`
	// DeferLoading tools are not in the prompt before a tool_reference names them.
	DeferLoading bool `json:"defer_loading"`
}

// Custom reports whether the client has described the tool.
func (t Tool) Custom() bool { return t.Type == "" || t.Type == "custom" }

// ToolChoice says whether tools are called.
type ToolChoice struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	DisableParallel bool   `json:"disable_parallel_tool_use"`
}

// Thinking asks for thinking.
type Thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
	Display      string `json:"display"`
}

// Output says how to write an answer.
type Output struct {
	Effort string  `json:"effort"`
	Format *Format `json:"format"`
}

// Format is the schema of a JSON answer.
type Format struct {
	Schema jsontext.Value `json:"schema"`
}

// Format is that of output_config, or of output_format, which is its beta name.
func (q *Request) Format() *Format {
	if q.OutputConfig != nil && q.OutputConfig.Format != nil {
		return q.OutputConfig.Format
	}
	return q.OutputFormat
}

// ReadBlocks reads content, which as a plain string is one block of text. Content
// of another shape has no blocks.
func ReadBlocks(content jsontext.Value) []Block {
	if content.Kind() == '"' {
		return []Block{{Type: "text", Text: jsonbytes.Text(content)}}
	}
	var blocks []Block
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	return blocks
}

var choiceModes = map[string]reply.ChoiceMode{"any": reply.ChoiceForced, "tool": reply.ChoiceForced, "none": reply.ChoiceNone}

// Prompt reads the conversation and the options of the answer. Tools come
// before the system text and that before the messages, because prompts are
// cached in that order.
func (q *Request) Prompt() *reply.Prompt {
	p := reply.New(Name, q.Model)
	p.MaxTokens, p.Stops = q.MaxTokens, q.StopSequences
	loaded := q.References()
	for _, t := range q.Tools {
		if !t.DeferLoading || slices.Contains(loaded, t.Name) {
			p.AddTool(reply.Tool{Name: t.Name, Schema: t.InputSchema, Hosted: !t.Custom()})
		}
		p.EndPrefix(llm.Given(t.CacheControl))
	}
	for _, b := range ReadBlocks(q.System) {
		p.AddSystem(b.Text)
		p.EndPrefix(llm.Given(b.CacheControl))
	}
	calls := map[string]string{}
	for _, m := range q.Messages {
		p.BeginMessage(m.Role)
		for _, b := range ReadBlocks(m.Content) {
			b.addTo(p, m.Role, calls)
			p.EndPrefix(llm.Given(b.CacheControl))
		}
	}
	if llm.Given(q.CacheControl) {
		p.CacheLastPrefix()
	}
	if c := q.ToolChoice; c != nil {
		p.Parallel = !c.DisableParallel
		p.Choice.Mode = choiceModes[c.Type]
		if c.Type == "tool" {
			p.Choice.Names = []string{c.Name}
		}
	}
	p.Reasons = q.Thinks()
	if f := q.Format(); f != nil {
		p.JSON, p.Schema = true, f.Schema
	}
	return p
}

// References are the names of the deferred tools that tool results have loaded.
func (q *Request) References() []string {
	var names []string
	for _, m := range q.Messages {
		for _, b := range ReadBlocks(m.Content) {
			if b.Type != "tool_result" {
				continue
			}
			for _, part := range ReadBlocks(b.Content) {
				if part.Type == "tool_reference" {
					names = append(names, part.ToolName)
				}
			}
		}
	}
	return names
}

// addTo adds the block to a prompt; calls are the names of the tools by the ids
// of their calls.
func (b Block) addTo(p *reply.Prompt, role string, calls map[string]string) {
	switch b.Type {
	case "tool_use":
		calls[b.ID] = b.Name
		p.AddCall(b.Name, string(b.Input))
	case "tool_result":
		p.AddResult(calls[b.ToolUseID], resultText(b.Content))
		for _, part := range ReadBlocks(b.Content) {
			if part.Source != nil {
				part.addTo(p, role, calls)
			}
		}
	case "thinking", "redacted_thinking":
		p.AddAssistant("")
	case "image":
		p.AddImage(string(b.Source))
	case "document", "search_result":
		p.AddFile(string(b.Source) + string(b.Content))
	default:
		switch role {
		case "assistant":
			p.AddAssistant(b.Text)
		case "system":
			p.AddSystem(b.Text)
		default:
			p.AddUser(b.Text)
		}
	}
}

func resultText(content jsontext.Value) string {
	text := ""
	for _, b := range ReadBlocks(content) {
		text += b.Text + b.ToolName
	}
	return text
}
