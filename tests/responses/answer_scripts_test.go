package responses

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// scripted is an answer of an upstream: the blocks of Claude's message, or Gemini's parts,
// and the upstream's own word for why it ends.
type scripted struct {
	parts []string
	end   string
}

// script is the answer in its upstream's form, whole or streamed. It has read 30 tokens, 20
// of them from a cache, and written 9.
func (s scripted) script(provider string, streamed bool) providertest.Script {
	if provider == "gemini" {
		return s.gemini(streamed)
	}
	return s.claude(streamed)
}

func (s scripted) claude(streamed bool) providertest.Script {
	const usage = `"usage":{"input_tokens":8,"cache_creation_input_tokens":2,"cache_read_input_tokens":20,"output_tokens":9}`
	const head = `"id":"msg_1","type":"message","role":"assistant","model":"` + haiku + `"`
	end := fmt.Sprintf(`"stop_reason":%q,"stop_sequence":null`, s.end)
	if !streamed {
		return gatewaytest.JSON(200, `{`+head+`,"content":[`+strings.Join(s.parts, ",")+`],`+end+`,`+usage+`}`)
	}
	event := func(kind, members string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + `",` + members + "}\n\n"
	}
	pieces := []string{event("message_start", `"message":{`+head+`,"content":[],"stop_reason":null,"stop_sequence":null,`+usage+`}`)}
	for i, part := range s.parts {
		begin, deltas := claudeBlock(part)
		pieces = append(pieces, event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, i, begin)))
		for _, delta := range deltas {
			pieces = append(pieces, event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, i, delta)))
		}
		pieces = append(pieces, event("content_block_stop", fmt.Sprintf(`"index":%d`, i)))
	}
	pieces = append(pieces, event("message_delta", `"delta":{`+end+`},"usage":{"output_tokens":9}`), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return gatewaytest.Events(providertest.Proper, pieces...)
}

// claudeBlock is how a block comes in a stream.
func claudeBlock(whole string) (begin string, deltas []string) {
	var b map[string]any
	if err := json.Unmarshal([]byte(whole), &b); err != nil {
		panic(err)
	}
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(out)
	}
	switch b["type"] {
	case "text":
		return `{"type":"text","text":""}`, []string{`{"type":"text_delta","text":` + text(b["text"]) + `}`}
	case "thinking":
		return `{"type":"thinking","thinking":"","signature":""}`, []string{
			`{"type":"thinking_delta","thinking":` + text(b["thinking"]) + `}`, `{"type":"signature_delta","signature":` + text(b["signature"]) + `}`,
		}
	case "tool_use":
		input := text(b["input"])
		b["input"] = map[string]any{}
		half := len(input) / 2
		return text(b), []string{
			`{"type":"input_json_delta","partial_json":` + text(input[:half]) + `}`, `{"type":"input_json_delta","partial_json":` + text(input[half:]) + `}`,
		}
	}
	return whole, nil
}

func (s scripted) gemini(streamed bool) providertest.Script {
	answer := func(parts, end string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + end + `,"index":0}],"usageMetadata":{"promptTokenCount":30,` +
			`"cachedContentTokenCount":20,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":39},` +
			`"modelVersion":"` + flash + `","responseId":"x"}`
	}
	end := `,"finishReason":"` + s.end + `"`
	if !streamed {
		return gatewaytest.JSON(200, answer(strings.Join(s.parts, ","), end))
	}
	var pieces []string
	for _, part := range s.parts {
		pieces = append(pieces, "data: "+answer(part, "")+"\r\n\r\n")
	}
	return gatewaytest.Events(providertest.Proper, append(pieces, "data: "+answer("", end)+"\r\n\r\n")...)
}

// models by their provider.
var models = map[string]string{"anthropic": haiku, "gemini": flash}

func client(p *gatewaytest.Program) openai.Client {
	return openai.NewClient(option.WithBaseURL(p.URL+"/v1/"), option.WithAPIKey("sk-x"), option.WithMaxRetries(0))
}

// ask asks with OpenAI's SDK, whole or streamed. The items of a stream are those that its
// events say are done, and must be those of its last one.
func ask(t testing.TB, p *gatewaytest.Program, body string, streamed bool) (*sdk.Response, error) {
	t.Helper()
	c := client(p)
	raw := option.WithRequestBody("application/json", []byte(body))
	if !streamed {
		return c.Responses.New(t.Context(), sdk.ResponseNewParams{}, raw)
	}
	raw = option.WithRequestBody("application/json", []byte(strings.TrimSuffix(body, "}")+gatewaytest.Streaming+"}"))
	stream := c.Responses.NewStreaming(t.Context(), sdk.ResponseNewParams{}, raw)
	defer func() { _ = stream.Close() }()
	var last *sdk.Response
	var done []string
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_item.done":
			done = append(done, e.Item.RawJSON())
		case "response.completed", "response.incomplete", "response.failed":
			last = &e.Response
		}
	}
	if err := stream.Err(); err != nil || last == nil {
		return last, err
	}
	var all []string
	for i := range last.Output {
		all = append(all, last.Output[i].RawJSON())
	}
	if strings.Join(done, "\n") != strings.Join(all, "\n") {
		t.Errorf("the items are done as\n%s\nand the response has\n%s", strings.Join(done, "\n"), strings.Join(all, "\n"))
	}
	return last, nil
}

// wholeAndStreamed runs a test for each provider that is translated to, whole and streamed.
func wholeAndStreamed(t *testing.T, u gatewaytest.Upstreams, test func(t *testing.T, provider string, up *providertest.Upstream, streamed bool)) {
	for provider := range models {
		for way, streamed := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(provider+"/"+way, func(t *testing.T) { test(t, provider, u[provider], streamed) })
		}
	}
}

// itemsOf are the types of a response's items.
func itemsOf(r *sdk.Response) string {
	var types []string
	for i := range r.Output {
		types = append(types, r.Output[i].Type)
	}
	return strings.Join(types, " ")
}

// back are the items of a response as the input of the next request.
func back(r *sdk.Response) string {
	var all strings.Builder
	for i := range r.Output {
		all.WriteString(r.Output[i].RawJSON() + ",")
	}
	return all.String()
}

// sent is the body of the last request to an upstream.
func sent(t testing.TB, up *providertest.Upstream) string {
	t.Helper()
	requests := up.Requests()
	if len(requests) == 0 {
		t.Fatal("the upstream was not called")
	}
	return string(requests[len(requests)-1].Body)
}
