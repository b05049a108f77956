package simulator

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// anthropicGrammar is the request of POST /v1/messages.
var anthropicGrammar = grammar{
	"request": {
		"model": "string !", "max_tokens": "integer ! 1..", "messages": "message[] !",
		"system": "string|systemBlock@type[]", "temperature": "number 0..1", "top_p": "number 0..1", "top_k": "integer 0..",
		"stop_sequences": "string[]", "stream": "boolean",
		"tools": "tool@type/custom[]", "tool_choice": "choice@type", "thinking": "thinking@type",
		"output_config": "output", "output_format": "format@type", "metadata": "metadata",
		"service_tier": "string auto standard_only", "cache_control": "cache@type",
		"container": "any", "context_management": "any", "mcp_servers": "any", "speed": "any",
		"inference_geo": "any", "diagnostics": "any", "fallbacks": "any",
	},
	"message":           {"role": "string ! user assistant system", "content": "string|block@type[] !"},
	"systemBlock:text":  {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"block:text":        {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"block:image":       {"type": "string", "source": "image@type !", "cache_control": "cache@type"},
	"block:document":    {"type": "string", "source": "document@type !", "cache_control": "cache@type", "title": "string", "context": "string", "citations": "any"},
	"block:tool_result": {"type": "string", "tool_use_id": "string !", "content": "string|resultBlock@type[]", "is_error": "boolean", "cache_control": "cache@type"},
	"block:search_result": {
		"type": "string", "source": "string !", "title": "string !", "content": "any[] !", "cache_control": "cache@type", "citations": "any",
	},
	"block:tool_use":            {"type": "string", "id": "string !", "name": "string !", "input": "object !", "cache_control": "cache@type", "caller": "any"},
	"block:thinking":            {"type": "string", "thinking": "string !", "signature": "string !"},
	"block:redacted_thinking":   {"type": "string", "data": "string !"},
	"resultBlock:text":          {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"resultBlock:image":         {"type": "string", "source": "image@type !", "cache_control": "cache@type"},
	"resultBlock:document":      {"type": "string", "source": "document@type !", "cache_control": "cache@type", "title": "string", "context": "string", "citations": "any"},
	"resultBlock:search_result": {"type": "string", "source": "string !", "title": "string !", "content": "any[] !"},
	"image:base64":              {"type": "string", "media_type": "string ! image/jpeg image/png image/gif image/webp", "data": "string !"},
	"image:url":                 {"type": "string", "url": "string !"},
	"image:file":                {"type": "string", "file_id": "string !"},
	"document:base64":           {"type": "string", "media_type": "string ! application/pdf", "data": "string !"},
	"document:text":             {"type": "string", "media_type": "string ! text/plain", "data": "string !"},
	"document:content":          {"type": "string", "content": "any !"},
	"document:url":              {"type": "string", "url": "string !"},
	"document:file":             {"type": "string", "file_id": "string !"},
	"tool:custom": {
		"type": "string", "name": "string !", "description": "string", "input_schema": "object !", "cache_control": "cache@type",
		"strict": "boolean", "defer_loading": "boolean", "eager_input_streaming": "boolean", "input_examples": "any[]", "allowed_callers": "any[]",
	},
	"choice:auto":        {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:any":         {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:tool":        {"type": "string", "name": "string !", "disable_parallel_tool_use": "boolean"},
	"choice:none":        {"type": "string"},
	"thinking:enabled":   {"type": "string", "budget_tokens": "integer ! 1024..", "display": "string summarized omitted"},
	"thinking:adaptive":  {"type": "string", "display": "string summarized omitted"},
	"thinking:disabled":  {"type": "string"},
	"output":             {"effort": "string low medium high xhigh max", "format": "format@type", "task_budget": "any"},
	"format:json_schema": {"type": "string", "schema": "object !"},
	"metadata":           {"user_id": "string"},
	"cache:ephemeral":    {"type": "string", "ttl": "string 5m 1h"},
}

type anthropicRequest struct {
	Model         string             `json:"model"`
	MaxTokens     int                `json:"max_tokens"`
	Messages      []anthropicMessage `json:"messages"`
	System        jsontext.Value     `json:"system"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`
	TopK          *int               `json:"top_k"`
	StopSequences []string           `json:"stop_sequences"`
	Stream        bool               `json:"stream"`
	Tools         []anthropicTool    `json:"tools"`
	ToolChoice    *anthropicChoice   `json:"tool_choice"`
	Thinking      *anthropicThinking `json:"thinking"`
	OutputConfig  *anthropicOutput   `json:"output_config"`
	OutputFormat  *anthropicFormat   `json:"output_format"`
	CacheControl  jsontext.Value     `json:"cache_control"`
}

type anthropicMessage struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
	blocks  []anthropicBlock
}

type anthropicBlock struct {
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
	CacheControl jsontext.Value `json:"cache_control"`
}

type anthropicTool struct {
	Type         string         `json:"type"`
	Name         string         `json:"name"`
	InputSchema  jsontext.Value `json:"input_schema"`
	Strict       bool           `json:"strict"`
	CacheControl jsontext.Value `json:"cache_control"`
}

type anthropicChoice struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	OneAtOne bool   `json:"disable_parallel_tool_use"`
}

func (c *anthropicChoice) forces() bool { return c != nil && (c.Type == "any" || c.Type == "tool") }

type anthropicThinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
	Display      string `json:"display"`
}

type anthropicOutput struct {
	Effort string           `json:"effort"`
	Format *anthropicFormat `json:"format"`
}

type anthropicFormat struct {
	Schema jsontext.Value `json:"schema"`
}

// format is where the wanted schema stands: output_format is its beta name.
func (q *anthropicRequest) format() *anthropicFormat {
	if q.OutputConfig != nil && q.OutputConfig.Format != nil {
		return q.OutputConfig.Format
	}
	return q.OutputFormat
}

func (q *anthropicRequest) effort() string {
	if q.OutputConfig == nil {
		return ""
	}
	return q.OutputConfig.Effort
}

// readBlocks reads content, which as a plain string is one block of text. The
// grammar has been checked, so what cannot be read is not there.
func readBlocks(content jsontext.Value) []anthropicBlock {
	if content.Kind() == '"' {
		return []anthropicBlock{{Type: "text", Text: text(content)}}
	}
	var blocks []anthropicBlock
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	return blocks
}

// prompt reads a request that passed all checks. Tools come before the system
// text and that before the messages: it is the order that prompts are cached in.
func (q *anthropicRequest) prompt() *prompt {
	p := &prompt{provider: "anthropic", model: q.Model, limit: q.MaxTokens, stops: q.StopSequences, parallel: true}
	p.hash("model", q.Model)
	for _, t := range q.Tools {
		p.addTool(tool{name: t.Name, schema: t.InputSchema})
		p.mark(given(t.CacheControl))
	}
	for _, b := range readBlocks(q.System) {
		p.hearSystem(b.Text)
		p.mark(given(b.CacheControl))
	}
	names := map[string]string{}
	for _, m := range q.Messages {
		p.hash("role", m.Role)
		for _, b := range m.blocks {
			b.tell(p, m.Role, names)
			p.mark(given(b.CacheControl))
		}
	}
	if last := len(p.prefixes) - 1; last >= 0 && given(q.CacheControl) {
		p.prefixes[last].marked = true
	}
	if c := q.ToolChoice; c != nil {
		p.parallel = !c.OneAtOne
		p.choice.mode = map[string]choiceMode{"any": choiceForced, "tool": choiceForced, "none": choiceNone}[c.Type]
		if c.Type == "tool" {
			p.choice.names = []string{c.Name}
		}
	}
	p.reasons = q.thinks()
	if f := q.format(); f != nil {
		p.asJSON, p.schema = true, f.Schema
	}
	return p
}

func (b anthropicBlock) tell(p *prompt, role string, names map[string]string) {
	switch b.Type {
	case "tool_use":
		names[b.ID] = b.Name
		p.hearAssistant("")
		p.note("call", b.Name+" "+string(b.Input))
	case "tool_result":
		p.hearResult(names[b.ToolUseID], resultText(b.Content))
	case "thinking", "redacted_thinking":
		p.hearAssistant("")
	case "image":
		p.seeImage(string(b.Source))
	case "document", "search_result":
		p.seeFile(string(b.Source) + string(b.Content))
	default:
		switch role {
		case "assistant":
			p.hearAssistant(b.Text)
		case "system":
			p.hearSystem(b.Text)
		default:
			p.hearUser(b.Text)
		}
	}
}

func resultText(content jsontext.Value) string {
	said := ""
	for _, b := range readBlocks(content) {
		said += b.Text
	}
	return said
}
