package live

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
)

// The dialects of the clients.
const (
	chat       = "chat completions"
	messages   = "messages"
	responses  = "responses"
	embeddings = "embeddings"
)

// kind is a kind of calls.
type kind string

const (
	modelList  kind = "model list"
	whole      kind = "whole"
	stream     kind = "stream"
	toolCall   kind = "tool call"
	structured kind = "structured output"
	thinking   kind = "thinking"
	cached     kind = "cached prefix"
	unknown    kind = "unknown member"
	wrongModel kind = "wrong model"
	count      kind = "count of tokens"
	vectors    kind = "vectors"
)

// call is one tiny call.
type call struct {
	kind    kind
	dialect string
	path    string
	body    map[string]any
	words   int    // of its long prefix
	times   int    // it is made
	output  int64  // tokens at most
	bound   int64  // micro-dollars at most
	skipped string // why it is not made
}

const (
	toolName   = "tide_table"
	maxAnswer  = 160
	maxThought = 1200 // more than the 1,024 tokens that are the least some models think with
	// planted is a member that no provider knows. The recorder puts it into the request that the gateway sends.
	planted = "modelgateway_unknown_member"
)

func object(required string) map[string]any {
	return map[string]any{
		"type": "object", "properties": map[string]any{required: map[string]any{"type": "string"}}, "required": []string{required},
		"additionalProperties": false,
	}
}

// home are the dialects in which a provider's own cache is tried.
func home(provider, dialect string) bool {
	return dialect == chat && provider != catalog.Anthropic || dialect == messages && provider == catalog.Anthropic ||
		dialect == responses && provider == catalog.OpenAI
}

// prefixWords are more than the least tokens that the provider caches.
func prefixWords(provider string) int {
	switch provider {
	case catalog.Anthropic:
		return 4200
	case catalog.Gemini:
		return 2200
	}
	return 1400
}

// plan are the calls of a provider with a model for chat and one for vectors, either of which may be nil.
func plan(provider string, model, embedding *catalog.Model) (all []call) {
	for _, dialect := range []string{chat, messages, responses} {
		for _, k := range []kind{whole, stream, toolCall, structured, thinking, cached, unknown, wrongModel, count} {
			c := call{kind: k, dialect: dialect, times: 1, output: maxAnswer}
			switch {
			case model == nil:
				c.skipped = "no model of the catalogue that takes tools, structured output and thinking is sold today"
			case k == count && dialect == chat:
				continue // the API has no such call
			case k == cached && !home(provider, dialect):
				continue
			default:
				c.request(provider, model)
			}
			all = append(all, c)
		}
	}
	c := call{kind: vectors, dialect: embeddings, path: "/v1/embeddings", times: 1}
	if embedding == nil {
		c.skipped = "the provider has no models for embeddings"
	} else {
		c.body = map[string]any{"model": embedding.FullName(), "input": "Low tide"}
	}
	return append(all, c)
}

// request makes the body of a call.
func (c *call) request(provider string, model *catalog.Model) {
	name, prompt := model.FullName(), "Answer with one word: is the sea wet?"
	switch c.kind {
	case toolCall:
		prompt = "Call the tool " + toolName + " for the port Brest."
	case structured:
		prompt = "Answer with the word wet as the member answer."
	case thinking:
		prompt, c.output = "Which is larger, 17*23 or 19*21? Think before you answer, and answer with the larger number only.", maxThought
	case cached:
		c.words, c.times = prefixWords(provider), 2
		prompt = strings.Repeat("tide ", c.words) + prompt
	case wrongModel:
		name = provider + "/" + family(provider) + "no-such-model-"
	}
	c.body = map[string]any{"model": name}
	if c.kind == stream || c.kind == toolCall || c.kind == thinking {
		c.body["stream"] = true
	}
	message := []any{map[string]any{"role": "user", "content": prompt}}
	switch c.dialect {
	case chat:
		c.chat(message)
	case messages:
		c.messages(message, model)
	case responses:
		c.responses(prompt)
	}
	if c.kind == count {
		c.path += map[string]string{messages: "/count_tokens", responses: "/input_tokens"}[c.dialect]
		c.output = 0
		for _, name := range []string{"max_tokens", "max_output_tokens", "store"} {
			delete(c.body, name)
		}
	}
}

// family begins the names of a provider's models.
func family(provider string) string {
	return map[string]string{catalog.OpenAI: "gpt-", catalog.Anthropic: "claude-", catalog.Gemini: "gemini-"}[provider]
}

func (c *call) chat(messages []any) {
	c.path = "/v1/chat/completions"
	c.body["messages"], c.body["max_completion_tokens"] = messages, c.output
	if c.body["stream"] == true {
		c.body["stream_options"] = map[string]any{"include_usage": true}
	}
	switch c.kind {
	case toolCall:
		function := map[string]any{"name": toolName, "description": "The tides of a port", "parameters": object("port")}
		c.body["tools"] = []any{map[string]any{"type": "function", "function": function}}
	case structured:
		schema := map[string]any{"name": "answer", "strict": true, "schema": object("answer")}
		c.body["response_format"] = map[string]any{"type": "json_schema", "json_schema": schema}
	case thinking:
		c.body["reasoning_effort"] = "low"
	}
}

func (c *call) messages(messages []any, model *catalog.Model) {
	c.path = "/v1/messages"
	c.body["messages"], c.body["max_tokens"] = messages, c.output
	switch c.kind {
	case toolCall:
		c.body["tools"] = []any{map[string]any{"name": toolName, "description": "The tides of a port", "input_schema": object("port")}}
	case structured:
		c.body["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": object("answer")}}
	case thinking:
		c.body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": 1024}
		if !model.Traits.Thinks(catalog.ThinkBudget) {
			c.body["thinking"] = map[string]any{"type": "adaptive"}
		}
	case cached:
		c.body["cache_control"] = map[string]any{"type": "ephemeral"}
	}
}

func (c *call) responses(prompt string) {
	c.path = "/v1/responses"
	c.body["input"], c.body["max_output_tokens"], c.body["store"] = prompt, c.output, false
	switch c.kind {
	case toolCall:
		tool := map[string]any{"type": "function", "name": toolName, "description": "The tides of a port", "parameters": object("port")}
		c.body["tools"] = []any{tool}
	case structured:
		format := map[string]any{"type": "json_schema", "name": "answer", "strict": true, "schema": object("answer")}
		c.body["text"] = map[string]any{"format": format}
	case thinking:
		c.body["reasoning"] = map[string]any{"effort": "low", "summary": "auto"}
	}
}

// limit is what the calls of a provider may cost together, in micro-dollars: a cent.
const limit = 10_000

// price bounds the cost of the calls by the catalogue's prices, and leaves out calls with which it could be a cent or more.
// A byte is a token at most, and a word of the long prefix two; the provider adds its instructions about tools.
func price(all []call, of func(c *call) catalog.Price) (total int64) {
	for i := range all {
		c := &all[i]
		if c.skipped != "" || c.kind == unknown || c.kind == wrongModel || c.kind == count { // refusals and counts are free
			continue
		}
		p, instructions := of(c), int64(64)
		if c.kind == toolCall || c.kind == structured {
			instructions = 1024
		}
		input := int64(len(encoded(c.body))) - int64(c.words*len("tide ")) + int64(2*c.words) + instructions
		most := catalog.Amounts{catalog.InputTokens: input, catalog.OutputTokens: c.output, catalog.Requests: 1}
		c.bound = int64(c.times) * p.MaxCost(most)
		switch {
		case !p.Known:
			c.skipped, c.bound = "its model has no price", 0
		case total+c.bound >= limit:
			c.skipped, c.bound = fmt.Sprintf("with it the calls could cost $%.4f, and a cent is the limit", dollars(total+c.bound)), 0
		}
		total += c.bound
	}
	return total
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

func encoded(v any) string {
	b, _ := json.Marshal(v, json.Deterministic(true)) // of values that can be written
	return string(b)
}

func isObject(text string) bool {
	var o map[string]any
	return json.Unmarshal([]byte(text), &o) == nil && len(o) > 0
}
