package simulatortest

import "strings"

// Parts of requests to OpenAI: a message and a tool.
const (
	Hello       = `{"role":"user","content":"Hello there"}`
	WeatherTool = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
		`"properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}`
)

// ChatBody is a request to OpenAI; extra begins with a comma.
func ChatBody(extra, messages string) string {
	return `{"model":"gpt-4o"` + extra + `,"messages":[` + messages + `]}`
}

// ClaudeTool is a tool of a request to Anthropic. Hello is a message of it too.
const ClaudeTool = `{"name":"get_weather","description":"d",` +
	`"input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`

// MessagesBody is a request to Anthropic; extra begins with a comma, and may name
// the model and max_tokens.
func MessagesBody(extra, messages string) string {
	if !strings.Contains(extra, `"model"`) {
		extra = `,"model":"claude-haiku-4-5-20251001"` + extra
	}
	if !strings.Contains(extra, `"max_tokens"`) {
		extra += `,"max_tokens":4096`
	}
	return `{` + strings.TrimPrefix(extra, ",") + `,"messages":[` + messages + `]}`
}

// Parts of requests to Google: a content, and tools as an extra.
const (
	HelloContent = `{"role":"user","parts":[{"text":"Hello there"}]}`
	GeminiTools  = `,"tools":[{"functionDeclarations":[{"name":"get_weather","description":"d","parametersJsonSchema":{"type":"object",` +
		`"properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}]}]`
)

// ContentsBody is a request to Google; extra begins with a comma.
func ContentsBody(extra, contents string) string {
	return `{"contents":[` + contents + `]` + extra + `}`
}
