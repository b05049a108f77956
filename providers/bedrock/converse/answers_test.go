package converse

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// upstreamOf is an exchange of a request with an upstream that a script plays.
func upstreamOf(t testing.TB, m, request string) (*providertest.Upstream, *exchange) {
	t.Helper()
	u := providertest.Serve(t, providertest.Script{})
	x, err := newAPI(u.URL).Prepare(providers.Call{Request: decode(t, llm.Chat, request), Model: model(m)})
	if err != nil {
		t.Fatal(err)
	}
	return u, x.(*exchange)
}

// openWith sends a request to an upstream that answers with a body.
func openWith(t testing.TB, m, request string, script providertest.Script) (llm.Stream, *llm.Request, error) {
	t.Helper()
	u, x := upstreamOf(t, m, request)
	u.Play(script)
	stream, err := x.Open(t.Context(), testKey)
	return stream, x.call.Request, err
}

func streaming(body string) string { return strings.Replace(body, "{", `{"stream":true,`, 1) }

// eventStream is the answer of ConverseStream behind the framing of the client.
func eventStream(pieces ...[]byte) providertest.Script {
	return providertest.Script{Header: map[string][]string{"Content-Type": {"text/event-stream"}}, Pieces: pieces}
}

// summary is what a client of chat completions gets, or the error.
func summary(t testing.TB, m, request string, script providertest.Script) string {
	t.Helper()
	u, x := upstreamOf(t, m, request)
	return played(t, u, x, script)
}

func played(t testing.TB, u *providertest.Upstream, x *exchange, script providertest.Script) string {
	t.Helper()
	u.Play(script)
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		return "error: " + err.Error()
	}
	completion, err := providertest.Completion(x.call.Request, stream)
	if err != nil {
		return "error: " + err.Error()
	}
	completion.ID = "" // is made by the dialect
	text, err := json.Marshal(completion, jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// The recordings are those of pydantic-ai and vercel/ai, some of them shortened.
func TestRecordedAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			request, script := ask, providertest.Script{Pieces: [][]byte{body}}
			if filepath.Ext(file) == ".sse" {
				request, script = streaming(ask), eventStream(body)
			}
			got := summary(t, nova, request, script)
			if *update {
				if err := os.WriteFile(file+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".golden")
			if err != nil || got != string(want) {
				t.Errorf("%v: got %s", err, got)
			}
		})
	}
}

// A stream that breaks off is an error; where only the usage is missing, it is whole without it. How the bytes arrive
// changes nothing.
func TestStreamsAreCutEverywhere(t *testing.T) {
	for _, name := range []string{"kimi_call.sse", "openai_redacted.sse"} {
		body, err := os.ReadFile("testdata/answers/" + name)
		if err != nil {
			t.Fatal(err)
		}
		u, x := upstreamOf(t, nova, streaming(ask))
		whole := played(t, u, x, eventStream(body))
		if got := played(t, u, x, eventStream(slices.Collect(slices.Chunk(body, 1))...)); got != whole {
			t.Errorf("%s, byte by byte: %s", name, got)
		}
		stop := bytes.Index(body, []byte("event: messageStop"))
		usage := bytes.Index(body, []byte("event: metadata"))
		for at := 1; at < len(body); at++ {
			got := played(t, u, x, eventStream(body[:at]))
			broken := strings.HasPrefix(got, "error: ")
			if at <= stop && !broken || at > stop && at < usage-2 && !broken && !strings.Contains(got, `"total_tokens": 0`) {
				t.Fatalf("%s, cut at %d: %s", name, at, got)
			}
			if got := played(t, u, x, eventStream(body[:at], body[at:])); got != whole {
				t.Fatalf("%s, in two pieces at %d: %s", name, at, got)
			}
		}
	}
}

func TestAStreamEndsWithItsUsageOrWithoutIt(t *testing.T) {
	const text = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"}}\n\n"
	const stop = "event: messageStop\ndata: {\"stopReason\":\"end_turn\"}\n\n"
	const usage = "event: metadata\ndata: {\"usage\":{\"inputTokens\":3,\"outputTokens\":4}}\n\n"
	for body, want := range map[string]string{
		text + stop + usage: `"total_tokens": 7`,
		text + usage + stop: `"total_tokens": 7`,
		text + stop:         `"finish_reason": "stop"`,
		stop:                `"finish_reason": "stop"`,
		text + usage:        "error: bedrock broke off its answer before it was whole",
		text:                "error: bedrock broke off its answer before it was whole",
		"":                  "error: bedrock broke off its answer before it was whole",
		"event: contentBlockDelta\ndata: {\"contentBlockIndex\":\"x\"}\n\n" + stop:                "error: bedrock gave an answer the gateway cannot use",
		"event: messageStop\ndata: {\"stopReason\":\"malformed_tool_use\"}\n\n":                   "error: bedrock: status 200: bedrock ended its answer without",
		text + "event: messageStop\ndata: {\"stopReason\":\"malformed_model_output\"}\n\n":        `"finish_reason": "stop"`,
		text + "event: messageStop\ndata: {\"stopReason\":\"model_context_window_exceeded\"}\n\n": `"finish_reason": "length"`,
		text + "event: messageStop\ndata: {\"stopReason\":\"content_filtered\"}\n\n":              `"finish_reason": "content_filter"`,
	} {
		if got := summary(t, nova, streaming(ask), eventStream([]byte(body))); !strings.Contains(got, want) {
			t.Errorf("%q: %s", body, got)
		}
	}
	if got := summary(t, nova, ask, providertest.Script{Pieces: [][]byte{[]byte(`{"message":"x"}`)}}); !strings.Contains(got, "cannot use") {
		t.Errorf("%s", got)
	}
}

func TestExceptionsInsideAStreamSayWhatMayBeTriedNext(t *testing.T) {
	const begun = "event: messageStart\ndata: {\"role\":\"assistant\"}\n\n"
	const text = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"}}\n\n"
	for kind, want := range map[string]struct {
		status  int
		verdict providers.Verdict
	}{
		"rate_limit_error":      {429, providers.RateLimited},
		"invalid_request_error": {400, providers.Terminal},
		"overloaded_error":      {503, providers.Retryable},
		"timeout_error":         {408, providers.Retryable},
		"api_error":             {500, providers.Retryable},
	} {
		failure := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"why\"}}\n\n"
		for _, before := range []string{"", begun, begun + text} {
			stream, _, err := openWith(t, nova, streaming(ask), eventStream([]byte(before+failure)))
			if opened := err == nil; opened != strings.HasSuffix(before, text) {
				t.Fatalf("%s behind %q: opened %v", kind, before, opened)
			}
			if err == nil {
				_, err = llm.Collect(stream)
			}
			r, ok := errors.AsType[*providers.Refusal](err)
			if !ok || r.Status != want.status || r.Verdict() != want.verdict || r.Message != "why" {
				t.Errorf("%s: %+v", kind, err)
			}
		}
	}
}

func TestRefusalsByStatus(t *testing.T) {
	for _, want := range []struct {
		status  int
		body    string
		verdict providers.Verdict
		told    int
		code    string
	}{
		{400, `{"message":"Input is too long for requested model."}`, providers.Terminal, 400, api.CodeContextLength},
		{400, `{"message":"The provided model identifier is invalid."}`, providers.Terminal, 400, ""},
		{403, `{"Message":"no access"}`, providers.NextKey, 502, ""},
		{404, `{"message":"Could not resolve the foundation model"}`, providers.NextModel, 404, ""},
		{408, `{"message":"The model timed out"}`, providers.Retryable, 504, ""},
		{424, `{"message":"The model failed"}`, providers.NextModel, 502, ""},
		{429, `{"message":"Too many requests, please wait before trying again."}`, providers.RateLimited, 429, ""},
		{500, `<html>`, providers.Retryable, 502, ""},
		{503, `{"message":null}`, providers.Retryable, 502, ""},
	} {
		r := Refused(want.status, []byte(want.body))
		r.Provider = "bedrock"
		if e := r.ClientError(); r.Verdict() != want.verdict || e.Status != want.told || e.UpstreamCode != want.code {
			t.Errorf("%d: %+v, %+v", want.status, r, e)
		}
	}
	if r := Refused(429, []byte(`{"message":"Too many tokens per day, please wait before trying again."}`)); !r.Final {
		t.Error("a daily quota is not final")
	}
}

// answerOf is the one choice of a whole answer that has these blocks.
func answerOf(t *testing.T, m, request, content string) llm.AnswerChoice {
	t.Helper()
	body := `{"output":{"message":{"content":[` + content + `]}},"stopReason":"tool_use"}`
	stream, _, err := openWith(t, m, request, providertest.Script{Pieces: [][]byte{[]byte(body)}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(stream)
	if err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%+v, %v", answer, err)
	}
	return answer.Choices[0]
}

func TestTheToolThatGivesTheAnswerIsItsText(t *testing.T) {
	request := strings.Replace(ask, "{", `{"response_format":{"type":"json_schema","json_schema":{"name":"City","schema":{"type":"object"}}},`, 1)
	called := `{"text":"Here it is:"},{"toolUse":{"toolUseId":"a","name":"City","input":{ "city":"Paris" }}},{"toolUse":{"toolUseId":"b","name":"City","input":{}}}`
	c := answerOf(t, nova, request, called)
	if len(c.Blocks) != 1 || c.Blocks[0].Text != `{"city":"Paris"}` || c.Finish != llm.FinishStop {
		t.Errorf("%+v", c)
	}
	if c := answerOf(t, nova, request, `{"text":"I cannot."}`); len(c.Blocks) != 1 || c.Blocks[0].Text != "I cannot." {
		t.Errorf("%+v", c)
	}
}

func TestToolsHaveTheClientsNamesAgain(t *testing.T) {
	name := "mcp__" + strings.Repeat("n", 90)
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"` + name + `","input_schema":{"type":"object"}}]}`
	req := decode(t, llm.Messages, body)
	u := providertest.Serve(t, providertest.Script{Pieces: [][]byte{[]byte(
		`{"output":{"message":{"content":[{"toolUse":{"toolUseId":"","name":"` + toolName(name) + `","input":{}}}]}},"stopReason":"tool_use"}`)}})
	x, err := newAPI(u.URL).Prepare(providers.Call{Request: req, Model: model(nova)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	call := answer.Choices[0].Blocks[0].Call
	if sent := string(u.Requests()[0].Body); call.Name != name || call.ID == "" || !strings.Contains(sent, `"name":"`+toolName(name)+`"`) {
		t.Errorf("%+v, %s", call, sent)
	}
}

// Reasoning goes back to a model that takes it, through a client of chat completions.
func TestThoughtsComeBack(t *testing.T) {
	content := `{"reasoningContent":{"reasoningText":{"text":"plain"}}},{"reasoningContent":{"reasoningText":{"text":"why","signature":"sig"}}},` +
		`{"reasoningContent":{"redactedContent":"cmVk"}},{"text":"Let me see."},{"toolUse":{"toolUseId":"a","name":"f","input":{}}}`
	stream, req, err := openWith(t, oss, ask, providertest.Script{Pieces: [][]byte{[]byte(
		`{"output":{"message":{"content":[` + content + `]}},"stopReason":"tool_use"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	completion, err := providertest.Completion(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := json.Marshal(completion.Choices[0].Message)
	if err != nil {
		t.Fatal(err)
	}
	id := completion.Choices[0].Message.ToolCalls[0].ID
	next := `{"model":"m","messages":[{"role":"user","content":"hi"},` + string(turn) + `,{"role":"tool","tool_call_id":"` + id + `","content":"1"}]}`
	for m, want := range map[string]string{
		oss: `{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"plain"}}},` +
			`{"reasoningContent":{"reasoningText":{"text":"why","signature":"sig"}}},` +
			`{"reasoningContent":{"redactedContent":"cmVk"}},{"text":"Let me see."},{"toolUse":{"toolUseId":"a"`,
		nova: `{"role":"assistant","content":[{"text":"Let me see."},{"toolUse":{"toolUseId":"a"`,
	} {
		x, err := newAPI("").Prepare(providers.Call{Request: decode(t, llm.Chat, next), Model: model(m)})
		if err != nil {
			t.Fatal(err)
		}
		if body := string(x.Properties().Body[0]); !strings.Contains(body, want) {
			t.Errorf("%s: %s\nfrom %s", m, body, next)
		}
	}
}
