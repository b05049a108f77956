package live

import (
	"cmp"
	"strings"
)

// outcome is the content of an answer in any dialect: its text, tool call, finish reason and usage.
type outcome struct {
	text, thought   string
	name, arguments string // of its tool call
	finish          string // in the words of OpenAI's chat completions
	input, output   int64  // tokens
	cached          int64
	reasoning       int64
	ended           bool // a stream has its end mark
}

// outcomeOf reads the answer of a dialect.
func outcomeOf(dialect string, a answer) (o outcome) {
	for _, value := range a.values {
		switch dialect {
		case chat:
			o.addChat(value)
		case messages:
			o.addMessages(value)
		case responses:
			o.addResponses(value)
		}
	}
	if !a.stream {
		o.ended = true
	}
	for _, label := range a.labels {
		o.ended = o.ended || label == "[DONE]" || label == "message_stop" || label == "response.completed" || label == "response.incomplete"
	}
	return o
}

func (o *outcome) addChat(v any) {
	for _, part := range []any{at(v, "choices", 0, "message"), at(v, "choices", 0, "delta")} {
		o.text += text(part, "content")
		o.thought += text(part, "reasoning_content")
		o.name += text(part, "tool_calls", 0, "function", "name")
		o.arguments += text(part, "tool_calls", 0, "function", "arguments")
	}
	o.finish = cmp.Or(text(v, "choices", 0, "finish_reason"), o.finish)
	if usage := at(v, "usage"); usage != nil {
		o.input, o.output = number(usage, "prompt_tokens"), number(usage, "completion_tokens")
		o.cached = number(usage, "prompt_tokens_details", "cached_tokens")
		o.reasoning = number(usage, "completion_tokens_details", "reasoning_tokens")
	}
}

func (o *outcome) addMessages(v any) {
	blocks := append(list(v, "content"), at(v, "content_block"), at(v, "delta"))
	for _, b := range blocks {
		o.text += text(b, "text")
		o.thought += text(b, "thinking") + text(b, "signature") + text(b, "data") // the text may be left out
		o.name += text(b, "name")
		o.arguments += text(b, "partial_json")
		if input, is := at(b, "input").(map[string]any); is && len(input) > 0 {
			o.arguments += encoded(input)
		}
	}
	ends := map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter",
	}
	o.finish = cmp.Or(ends[text(v, "stop_reason")], ends[text(v, "delta", "stop_reason")], o.finish)
	for _, usage := range []any{at(v, "usage"), at(v, "message", "usage")} {
		if usage == nil {
			continue
		}
		o.cached = max(o.cached, number(usage, "cache_read_input_tokens"))
		written := number(usage, "cache_creation_input_tokens")
		o.input = max(o.input, number(usage, "input_tokens")+number(usage, "cache_read_input_tokens")+written)
		o.output = max(o.output, number(usage, "output_tokens"))
	}
}

func (o *outcome) addResponses(v any) {
	if response := at(v, "response"); response != nil {
		if kind := text(v, "type"); kind != "response.completed" && kind != "response.incomplete" {
			return
		}
		v = response
	}
	for _, item := range list(v, "output") {
		switch text(item, "type") {
		case "message":
			for _, part := range list(item, "content") {
				o.text += text(part, "text")
			}
		case "reasoning":
			o.thought += text(item, "summary", 0, "text")
		case "function_call":
			o.name, o.arguments = text(item, "name"), text(item, "arguments")
		}
	}
	switch {
	case text(v, "status") == "incomplete":
		o.finish = "length"
	case o.name != "":
		o.finish = "tool_calls"
	case text(v, "status") == "completed":
		o.finish = "stop"
	}
	o.input, o.output = number(v, "usage", "input_tokens"), number(v, "usage", "output_tokens")
	o.cached = number(v, "usage", "input_tokens_details", "cached_tokens")
	o.reasoning = number(v, "usage", "output_tokens_details", "reasoning_tokens")
}

// judge says what of an outcome is not as it should be for a call of a kind; skipped is why nothing can be said of it.
func (o *outcome) judge(k kind, all *differences) (skipped string) {
	cut := o.finish == "length"
	switch {
	case !o.ended:
		all.add(false, "the client's stream has no end%s", matters("event"))
	case o.finish == "" || k == toolCall && !cut && o.finish != "tool_calls":
		all.add(false, "the client is told that the answer ended with %q%s", o.finish, matters("finish"))
	case k == toolCall && !cut && (o.name != toolName || !isObject(o.arguments)):
		all.add(false, "the client gets no call of the tool%s", matters("tool"))
	case k != toolCall && !cut && strings.TrimSpace(o.text) == "":
		all.add(false, "the client gets no text")
	case k == structured && !cut && !isObject(o.text):
		all.add(false, "the client gets no JSON in place of structured output")
	}
	if o.input <= 0 || o.output <= 0 {
		all.add(false, "the client is told of %d tokens in and %d out%s", o.input, o.output, matters("usage"))
	}
	switch {
	case k == toolCall && cut:
		return "the answer was cut at its limit of tokens before the call"
	case k == thinking && o.thought == "" && o.reasoning == 0:
		return "the model did not think, which is its own choice"
	case k == cached && o.cached == 0:
		return "the provider read nothing from its cache, which it does not promise"
	}
	return ""
}
