package clouds

import (
	"encoding/json"
	"strings"
)

// said is what an answer says, in any dialect.
type said struct {
	text, tool, arguments string
	in, out               int64
}

// dialect is one of the clients' APIs.
type dialect struct {
	name, path string
	prompt     func(text string) string
	tool       string // a member that offers the tool "weather"
	streaming  string
	read       func(body string) said
}

const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

func dialects() []dialect {
	return []dialect{
		{
			"chat", "/v1/chat/completions",
			func(text string) string { return `"messages":[{"role":"user","content":"` + text + `"}]` },
			`,"tools":[{"type":"function","function":{"name":"weather","description":"a","parameters":` + schema + `}}]`,
			`,"stream":true,"stream_options":{"include_usage":true}`, readChat,
		},
		{
			"responses", "/v1/responses",
			func(text string) string { return `"input":[{"role":"user","content":"` + text + `"}],"store":false` },
			`,"tools":[{"type":"function","name":"weather","description":"a","strict":false,"parameters":` + schema + `}]`,
			`,"stream":true`, readResponse,
		},
		{
			"messages", "/v1/messages",
			func(text string) string {
				return `"max_tokens":500,"messages":[{"role":"user","content":"` + text + `"}]`
			},
			`,"tools":[{"name":"weather","description":"a","input_schema":` + schema + `}]`,
			`,"stream":true`, readMessage,
		},
	}
}

// parts are the JSON values of an answer: the events of a stream, or the whole body.
func parts(body string) (all []string) {
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, data)
		}
	}
	if all == nil {
		return []string{body}
	}
	return all
}

func readChat(body string) (s said) {
	type message struct {
		Content string
		Calls   []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	for _, part := range parts(body) {
		var v struct {
			Choices []struct{ Message, Delta message }
			Usage   struct {
				In  int64 `json:"prompt_tokens"`
				Out int64 `json:"completion_tokens"`
			}
		}
		_ = json.Unmarshal([]byte(part), &v) // [DONE] is no JSON
		for _, c := range v.Choices {
			for _, m := range []message{c.Message, c.Delta} {
				s.text += m.Content
				for _, call := range m.Calls {
					s.tool, s.arguments = s.tool+call.Function.Name, s.arguments+call.Function.Arguments
				}
			}
		}
		s.in, s.out = max(s.in, v.Usage.In), max(s.out, v.Usage.Out)
	}
	return s
}

func readResponse(body string) (s said) {
	type response struct {
		Output []struct {
			Type, Name, Arguments string
			Content               []struct{ Text string }
		}
		Usage struct {
			In  int64 `json:"input_tokens"`
			Out int64 `json:"output_tokens"`
		}
	}
	for _, part := range parts(body) {
		var v struct {
			Type, Delta string
			Response    response
			response
		}
		_ = json.Unmarshal([]byte(part), &v) // what is not JSON says nothing
		if v.Type == "response.completed" {
			v.response = v.Response
		}
		for _, item := range v.Output {
			for _, c := range item.Content {
				s.text += c.Text
			}
			s.tool, s.arguments = s.tool+item.Name, s.arguments+item.Arguments
		}
		s.in, s.out = max(s.in, v.Usage.In), max(s.out, v.Usage.Out)
	}
	return s
}

func readMessage(body string) (s said) {
	type usage struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"output_tokens"`
	}
	type block struct {
		Type, Text, Name string
		Input            json.RawMessage
	}
	type message struct {
		Content []block
		Usage   usage
	}
	for _, part := range parts(body) {
		var v struct {
			Type    string
			Block   block `json:"content_block"`
			Message message
			Delta   struct {
				Text string
				JSON string `json:"partial_json"`
			}
			message
		}
		_ = json.Unmarshal([]byte(part), &v) // what is not JSON says nothing
		for _, b := range v.Content {
			s.text, s.tool, s.arguments = s.text+b.Text, s.tool+b.Name, s.arguments+string(b.Input)
		}
		s.text, s.tool, s.arguments = s.text+v.Delta.Text, s.tool+v.Block.Name, s.arguments+v.Delta.JSON
		s.in, s.out = max(s.in, v.Usage.In, v.Message.Usage.In), max(s.out, v.Usage.Out)
	}
	return s
}
