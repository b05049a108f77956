package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
)

// Request has the members of a request that the answer depends on.
type Request struct {
	Model              string         `json:"model"`
	Input              jsontext.Value `json:"input"`
	Instructions       jsontext.Value `json:"instructions"`
	PreviousResponseID string         `json:"previous_response_id"`
	Store              *bool          `json:"store"`
	Stream             bool           `json:"stream"`
	StreamOptions      struct {
		IncludeObfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
	Include           []string         `json:"include"`
	MaxOutputTokens   *int             `json:"max_output_tokens"`
	Tools             []jsontext.Value `json:"tools"`
	ToolChoice        jsontext.Value   `json:"tool_choice"`
	ParallelToolCalls *bool            `json:"parallel_tool_calls"`
	Text              struct {
		Format jsontext.Value `json:"format"`
	} `json:"text"`
	Reasoning struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
		Former  string `json:"generate_summary"`
	} `json:"reasoning"`
	Temperature jsontext.Value `json:"temperature"`
	TopP        jsontext.Value `json:"top_p"`

	raw       jsontext.Value
	answersAs string // the name of the model in the answer
	// items are those of the input, references resolved, and history those of the responses
	// before it.
	items, history []jsontext.Value
	// compacts asks for an item that stands for the conversation.
	compacts bool
}

// reads are the items of an input: text alone is one message.
func (q *Request) reads() []jsontext.Value {
	if q.Input.Kind() == '"' {
		return []jsontext.Value{rawjson.Encode(rawjson.Object{"type", "message", "role", "user", "content", q.Input})}
	}
	return rawjson.Elements(q.Input)
}

// reasons reports whether the model reasons: the newer ones do unless they are told not to.
func (q *Request) reasons() bool {
	for _, family := range []string{"gpt-5", "gpt-6", "codex-", "o1", "o3", "o4"} {
		if strings.HasPrefix(q.Model, family) {
			return q.Reasoning.Effort != "none"
		}
	}
	return false
}

// phases reports whether the model says of its messages whether they are its last.
func (q *Request) phases() bool {
	return strings.HasPrefix(q.Model, "gpt-5.5") || strings.HasPrefix(q.Model, "gpt-6")
}

// Prompt reads the conversation and the options of the answer.
func (q *Request) Prompt() *reply.Prompt {
	p := reply.New("openai", q.Model)
	p.Parallel = q.ParallelToolCalls == nil || *q.ParallelToolCalls
	p.Reasons = q.reasons()
	if q.MaxOutputTokens != nil {
		p.MaxTokens = *q.MaxOutputTokens
	}
	p.Choice = choice(q.ToolChoice)
	switch rawjson.GetString(q.Text.Format, "type") {
	case "json_schema":
		p.JSON, p.Schema = true, jsonbytes.Member(q.Text.Format, "schema")
	case "json_object":
		p.JSON = true
	}
	addTools(p, q.Tools)
	for _, text := range rawjson.Strings(q.Instructions) {
		p.AddSystem(text)
	}
	calls := map[string]string{}
	for _, items := range [][]jsontext.Value{q.history, q.items} {
		for _, item := range items {
			q.addItem(p, item, calls)
			p.EndPrefix(true)
		}
	}
	return p
}

// addItem adds an item to a prompt; calls are the names of the tools by the ids of their
// calls.
func (q *Request) addItem(p *reply.Prompt, item jsontext.Value, calls map[string]string) {
	get := func(name string) string { return rawjson.GetString(item, name) }
	switch kind := get("type"); kind {
	case "", "message":
		addMessage(p, get("role"), jsonbytes.Member(item, "content"))
	case "additional_tools", "tool_search_output":
		addTools(p, rawjson.Elements(jsonbytes.Member(item, "tools")))
	case "reasoning":
		p.AddAssistant("")
	case "function_call", "custom_tool_call":
		calls[get("call_id")] = get("name")
		p.AddCall(get("name"), get("arguments")+get("input"))
	case "compaction", "compaction_summary":
		text, _ := Decrypt(get("encrypted_content"))
		p.AddAssistant(text)
	case "compaction_trigger":
		q.compacts = true
	default:
		if !strings.HasSuffix(kind, "_output") {
			p.AddCall(kind, string(item))
			return
		}
		output := jsonbytes.Member(item, "output")
		p.AddResult(calls[get("call_id")], text(output))
		addMedia(p, output)
	}
}

func addMessage(p *reply.Prompt, role string, content jsontext.Value) {
	switch role {
	case "system", "developer":
		p.AddSystem(text(content))
	case "assistant":
		p.AddAssistant(text(content))
	default:
		if content.Kind() == '"' {
			p.AddUser(jsonbytes.Text(content))
			return
		}
		for _, part := range rawjson.Elements(content) {
			if rawjson.GetString(part, "type") == "input_text" {
				p.AddUser(rawjson.GetString(part, "text"))
			}
		}
		addMedia(p, content)
	}
}

// text is the content without its images and files.
func text(content jsontext.Value) string {
	if content.Kind() == '"' {
		return jsonbytes.Text(content)
	}
	var texts []string
	for _, part := range rawjson.Elements(content) {
		if t := rawjson.GetString(part, "text") + rawjson.GetString(part, "refusal"); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

func addMedia(p *reply.Prompt, content jsontext.Value) {
	for _, part := range rawjson.Elements(content) {
		switch rawjson.GetString(part, "type") {
		case "input_image":
			p.AddImage(string(part))
		case "input_file":
			p.AddFile(string(part))
		}
	}
}
