package gatewaytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
)

// TextOf returns the text of a stream or of an answer.
func TextOf(body string) (text string) {
	for line := range strings.Lines(body) {
		line, _ = strings.CutPrefix(line, "data: ")
		var part struct {
			Choices []struct{ Delta, Message struct{ Content string } }
		}
		if json.Unmarshal([]byte(line), &part) == nil && len(part.Choices) > 0 {
			text += part.Choices[0].Delta.Content + part.Choices[0].Message.Content
		}
	}
	return text
}

// WholeAnswer is a complete answer to a request with these members: a stream for
// Streaming.
func (f Provider) WholeAnswer(members, text string) providertest.Script {
	if members == Streaming {
		return Events(providertest.Proper, f.Start, f.Text(text), f.End)
	}
	return JSON(200, f.Answer(text))
}

// StartWithFallback starts a gateway in which a model of another provider, by, is
// the fallback of f's model.
func StartWithFallback(t *testing.T, f Provider, settings ...string) (p *Program, own, other *providertest.Upstream, by Provider) {
	t.Helper()
	all := Providers()
	by = all[(slices.IndexFunc(all, func(g Provider) bool { return g.Name == f.Name })+1)%len(all)]
	own, other = providertest.Serve(t), providertest.Serve(t)
	p = Start(t, append([]string{
		f.EnvPrefix + "_API_KEY=sk-own", f.EnvPrefix + "_BASE_URL=" + own.URL,
		by.EnvPrefix + "_API_KEY=sk-other", by.EnvPrefix + "_BASE_URL=" + other.URL, "FALLBACKS=" + f.Model + "=" + by.Model,
	}, settings...)...)
	return p, own, other, by
}

// Provider is a provider with the parts of its answers.
type Provider struct {
	Name, Model, EnvPrefix string
	Start                  string              // of a stream
	Text                   func(string) string // one fragment
	End                    string              // finish and end mark
	ErrorEvent             string              // an error inside a stream
	Answer                 func(string) string // a whole answer
}

// Quote returns a string as JSON.
func Quote(s string) string {
	text, _ := json.Marshal(s) // a string always has a JSON form
	return string(text)
}

// Providers returns OpenAI, Anthropic and Gemini.
func Providers() []Provider {
	return []Provider{
		{
			Name: "openai", Model: "gpt-4", EnvPrefix: "OPENAI",
			Start: `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
			Text: func(s string) string {
				return `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{"content":` + Quote(s) + `},"finish_reason":null}]}` + "\n\n"
			},
			End: `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
				`data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\ndata: [DONE]\n\n",
			ErrorEvent: `data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}` + "\n\n",
			Answer: func(s string) string {
				return `{"id":"x","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":` + Quote(s) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`
			},
		},
		{
			Name: "anthropic", Model: "claude-haiku-4-5-20251001", EnvPrefix: "ANTHROPIC",
			Start: "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
				"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			Text: func(s string) string {
				return "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + Quote(s) + `}}` + "\n\n"
			},
			End: "event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\n" +
				"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}` + "\n\n" +
				"event: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n",
			ErrorEvent: "event: error\ndata: " + `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}` + "\n\n",
			Answer: func(s string) string {
				return `{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":` + Quote(s) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`
			},
		},
		{
			Name: "gemini", Model: "gemini-2.5-flash", EnvPrefix: "GEMINI",
			Start: `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n",
			Text: func(s string) string {
				return `data: {"candidates":[{"content":{"parts":[{"text":` + Quote(s) + `}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n"
			},
			End:        `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n",
			ErrorEvent: `data: {"error":{"code":500,"message":"An internal error has occurred","status":"INTERNAL"}}` + "\r\n\r\n",
			Answer: func(s string) string {
				return `{"candidates":[{"content":{"parts":[{"text":` + Quote(s) + `}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"gemini-2.5-flash","responseId":"x"}`
			},
		},
	}
}

// Request is a chat request for the provider's model, with further members.
func (f Provider) Request(members string) string {
	return `{"model":"` + f.Model + `",` + HiMessages + members + `}`
}

// Streaming is the member that asks for a stream.
const Streaming = `,"stream":true`

// Events is a script of Server-Sent Events that are sent one by one.
func Events(end providertest.End, pieces ...string) providertest.Script {
	s := providertest.Script{Header: http.Header{"Content-Type": {"text/event-stream"}}, End: end}
	for _, p := range pieces {
		s.Pieces = append(s.Pieces, []byte(p))
	}
	return s
}

// JSON is a script of an answer with a JSON body.
func JSON(status int, body string) providertest.Script {
	return providertest.Script{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(body)}}
}

// EachProvider runs a test for every provider in parallel, each with a gateway
// of its own whose upstream is u.
func EachProvider(t *testing.T, test func(t *testing.T, f Provider, u *providertest.Upstream, p *Program), settings ...string) {
	t.Helper()
	for _, f := range Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t)
			p := Start(
				t,
				append([]string{f.EnvPrefix + "_API_KEY=sk-canary-" + f.Name, f.EnvPrefix + "_BASE_URL=" + u.URL}, settings...)...)
			test(t, f, u, p)
		})
	}
}
