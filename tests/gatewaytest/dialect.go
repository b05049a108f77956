package gatewaytest

import (
	"fmt"
)

// Charges are the tokens that a provider charges for a call.
type Charges struct {
	Prompt, Cached, Written, Output, Reasoning int64
	Estimated                                  bool // the gateway cannot know them
}

// Dialect is the wire format of a provider, with charges that vary.
type Dialect struct {
	Name    string
	Writes  bool // reports the tokens that were written to a cache
	Fault   string
	Refusal func(status int) string
	Start   func(*Charges) string
	Text    func(string, *Charges) string
	End     func(*Charges) string
	Answer  func(string, *Charges) string
}

// OpenAIDialect is the wire format of OpenAI.
func OpenAIDialect() Dialect {
	usage := func(c *Charges) string {
		if c == nil {
			return ""
		}
		return fmt.Sprintf(
			`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
			c.Prompt,
			c.Output,
			c.Prompt+c.Output,
			c.Cached,
			c.Reasoning,
		)
	}
	event := func(choices, more string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[` + choices + `]` + more + "}\n\n"
	}
	return Dialect{
		Name:    "openai",
		Fault:   `data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}` + "\n\n",
		Refusal: func(int) string { return `{"error":{"message":"no","type":"server_error","param":null,"code":null}}` },
		Start: func(*Charges) string {
			return event(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, "")
		},
		Text: func(s string, _ *Charges) string {
			return event(`{"index":0,"delta":{"content":`+Quote(s)+`},"finish_reason":null}`, "")
		},
		End: func(c *Charges) string {
			last := event(`{"index":0,"delta":{},"finish_reason":"stop"}`, "")
			if c != nil {
				last += event("", usage(c))
			}
			return last + "data: [DONE]\n\n"
		},
		Answer: func(s string, c *Charges) string {
			return `{"id":"x","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":` + Quote(s) + `},"finish_reason":"stop"}]` + usage(c) + `}`
		},
	}
}
