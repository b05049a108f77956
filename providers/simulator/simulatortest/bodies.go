package simulatortest

import "strings"

// Hello is a message to OpenAI or Anthropic.
const Hello = `{"role":"user","content":"Hello there"}`

// ChatBody is a request to OpenAI; extra begins with a comma.
func ChatBody(extra, messages string) string {
	return `{"model":"gpt-4o"` + extra + `,"messages":[` + messages + `]}`
}

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

// HelloContent is a content of a request to Google.
const HelloContent = `{"role":"user","parts":[{"text":"Hello there"}]}`

// ContentsBody is a request to Google; extra begins with a comma.
func ContentsBody(extra, contents string) string {
	return `{"contents":[` + contents + `]` + extra + `}`
}
