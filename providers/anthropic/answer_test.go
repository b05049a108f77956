package anthropic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

const wholeAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[
	{"type":"thinking","thinking":"I should ask.","signature":"c2lnbmF0dXJl"},
	{"type":"redacted_thinking","data":"cmVk"},
	{"type":"text","text":"Let me ","citations":null},{"type":"server_tool_use","id":"srvtoolu_1","name":"x","input":{},` +
	`"text":[1]},{"type":"text","text":"see."},
	{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{ "city": "Paris", "n": 1.0 },"caller":{"type":"direct"}},
	{"type":"tool_use","id":"toolu_2","name":"now","input":{}}],
	"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,
	"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":7,` +
	`"output_tokens_details":{"thinking_tokens":4},"service_tier":"standard"}}`

func complete(t *testing.T, body, fields string) (*chat.Completion, error) {
	t.Helper()
	x, req := answering(t, body, fields)
	return completion(t, x, req)
}

// completion asks for a whole answer as clients see it.
func completion(t *testing.T, x providers.Exchange, req *llm.Request) (*chat.Completion, error) {
	t.Helper()
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		return nil, err
	}
	return providertest.Completion(req, stream)
}

func TestWholeAnswerBecomesACompletion(t *testing.T) {
	c, err := complete(t, wholeAnswer, "")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Choices[0].Message
	if c.ID != "msg_1" || c.Object != chat.ObjectCompletion || c.Model != "claude-x" || c.Created != 1760000000 || len(c.Choices) != 1 {
		t.Errorf("%+v", c)
	}
	if *m.Content != "Let me see." || m.ReasoningContent != "I should ask." || c.Choices[0].FinishReason != string(llm.FinishToolCalls) {
		t.Errorf("%q %q %q", *m.Content, m.ReasoningContent, c.Choices[0].FinishReason)
	}
	if len(m.ToolCalls) != 2 || m.ToolCalls[0].Function.Name != "get_weather" ||
		m.ToolCalls[0].Function.Arguments != `{"city":"Paris","n":1.0}` ||
		m.ToolCalls[1].ID != "toolu_2" ||
		m.ToolCalls[1].Function.Name != "now" || m.ToolCalls[1].Function.Arguments != "{}" {
		t.Errorf("%+v", m.ToolCalls)
	}
	if want := []chat.ReasoningDetail{
		{Type: chat.ReasoningText, Text: "I should ask.", Signature: "c2lnbmF0dXJl", Format: llm.FormatAnthropic},
		{Type: chat.ReasoningEncrypted, Data: "cmVk", Format: llm.FormatAnthropic, Index: 1},
	}; !slices.Equal(m.ReasoningDetails, want) {
		t.Errorf("%+v", m.ReasoningDetails)
	}
	u := c.Usage
	if u.PromptTokens != 15 || u.CompletionTokens != 7 || u.TotalTokens != 22 || u.PromptTokensDetails.CachedTokens != 3 ||
		u.PromptTokensDetails.CacheWriteTokens != 2 || u.CompletionTokensDetails.ReasoningTokens != 4 {
		t.Errorf("%+v", u)
	}
}

func TestArgumentsAreValidTextForInvalidInput(t *testing.T) {
	const input, want = "{ \"a\": \"x\xffy\", \"a\": { \"b\": 1, \"b\": \"\xe2\x82\" } }",
		"{\"a\":\"x\uFFFDy\",\"a\":{\"b\":1,\"b\":\"\uFFFD\uFFFD\"}}"
	c, err := complete(t, `{"type":"message","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":`+input+
		`}],"stop_reason":"tool_use"}`, "")
	if err != nil || c.Choices[0].Message.ToolCalls[0].Function.Arguments != want {
		t.Fatalf("%v %+v", err, c)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	block := `{"type":"tool_use","id":"toolu_1","name":"f","input":` + input + `}`
	shown, err := play(t, events(start, began(0, block), over(0), stopped("tool_use"), end), "")
	if err != nil || len(shown) < 3 || shown[2] != "call0 "+strings.ReplaceAll(want, " ", "") {
		t.Errorf("%q, %v", shown, err)
	}
}

func TestEmptyAnswerHasEmptyContent(t *testing.T) {
	c, err := complete(
		t,
		`{"id":"m","type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`,
		"",
	)
	if err != nil || c.Choices[0].Message.Content == nil || *c.Choices[0].Message.Content != "" ||
		c.Choices[0].FinishReason != string(llm.FinishStop) {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.Model != budgetOld {
		t.Errorf("without a model of its own the answer says %q", c.Model)
	}
}

func TestDeprecatedFunctionIsAnsweredWithAFunctionCall(t *testing.T) {
	c, err := complete(t, wholeAnswer, `"functions":[{"name":"get_weather"}],`)
	if err != nil {
		t.Fatal(err)
	}
	m := c.Choices[0].Message
	if m.FunctionCall == nil || m.FunctionCall.Name != "get_weather" || m.FunctionCall.Arguments != `{"city":"Paris","n":1.0}` ||
		len(m.ToolCalls) > 0 || c.Choices[0].FinishReason != "function_call" {
		t.Errorf("%+v", c.Choices[0])
	}
}

func TestInputOfTheAnswerToolIsContent(t *testing.T) {
	c, err := complete(t, strings.Replace(wholeAnswer, `"name":"now"`, `"name":"get_weather"`, 1),
		`"response_format":{"type":"json_schema","json_schema":{"name":"get_weather","schema":{"type":"object"}}},`)
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Choices[0].Message; *m.Content != `{"city":"Paris","n":1.0}` || len(m.ToolCalls) > 0 ||
		c.Choices[0].FinishReason != string(llm.FinishStop) {
		t.Errorf("%+v", c.Choices[0])
	}
}

func TestAnswerThatIsNoMessageIsAProviderError(t *testing.T) {
	for body, status := range map[string]int{
		``: 502, `{}`: 502, `"text"`: 502, `[]`: 502, `null`: 502, `<html>`: 502,
		`{"type":"message"}`:                                                                502,
		`{"type":"message","content":null}`:                                                 502,
		`{"type":"message","content":"text"}`:                                               502,
		`{"type":"message","content":[7]}`:                                                  502,
		`{"type":"message","content":[{"type":"text","text":7}]}`:                           502,
		`{"type":"completion","content":[]}`:                                                502,
		wholeAnswer[:len(wholeAnswer)-1]:                                                    502,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:       502,
		`{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`:                429,
		`{"type":"error","error":{"type":"invalid_request_error","message":"x: too long"}}`: 400,
	} {
		_, err := complete(t, body, "")
		if e := api.AsError(err); err == nil || e.Status != status || e.Code != api.CodeProviderError {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestThinkingComesBackUnchanged gives an answer back as different clients do,
// and checks what the upstream gets then.
func TestThinkingComesBackUnchanged(t *testing.T) {
	const want = `"content":[{"type":"thinking","thinking":"I should ask.","signature":"c2lnbmF0dXJl"},` +
		`{"type":"redacted_thinking","data":"cmVk"},` +
		`{"type":"text","text":"Let me see."},` +
		`{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Paris","n":1.0}},{"type":"tool_use","id":"toolu_2",` +
		`"name":"now","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"rain"},{"type":"tool_result",` +
		`"tool_use_id":"toolu_2","content":"noon"}]}`
	c, err := complete(t, wholeAnswer, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, forget := range map[string]func(*chat.Answer){
		"a client that knows OpenAI's fields only": func(m *chat.Answer) { m.ReasoningContent, m.ReasoningDetails = "", nil },
		"a client that keeps reasoning_details":    func(m *chat.Answer) { m.ToolCalls[0].ID = "toolu_1" },
		"a client that keeps both":                 func(*chat.Answer) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.Choices[0].Message
			m.ToolCalls = slices.Clone(m.ToolCalls)
			forget(&m)
			said, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			body, ignored := sent(t, budgetNew, `{"model":"m","reasoning_effort":"low",`+talk(user("q"), string(said),
				result(m.ToolCalls[1].ID, "noon"), result(m.ToolCalls[0].ID, "rain"))+`,"tools":[`+weather+`]}`)
			if !strings.Contains(body, want) || ignored != nil || !strings.Contains(body, `"thinking":{"type":"enabled"`) {
				t.Errorf("ignored %q, sent\n%s\nwant in it\n%s", ignored, body, want)
			}
		})
	}
}

func TestToolCallCarriesTheThinkingBeforeIt(t *testing.T) {
	s := newStream([]byte(events(start,
		began(0, `{"type":"thinking","thinking":"","signature":"one"}`), over(0), began(1, toolBlock), over(1),
		began(2, `{"type":"thinking","thinking":"b","signature":"two"}`), over(2), began(3, `{"type":"tool_use","id":"toolu_2",`+
			`"name":"g","input":{}}`), over(3),
		began(4, `{"type":"thinking","thinking":"without a signature","signature":""}`), over(4), stopped("tool_use"), end)))
	if err := s.readStart(); err != nil {
		t.Fatal(err)
	}
	c, err := providertest.Collect(providertest.Chunks(streamRequest(t, ""), s.run))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Choices[0].Message
	m.ReasoningDetails = nil
	said, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := sent(t, byDefault, `{"model":"m",`+talk(user("q"), string(said), result(m.ToolCalls[0].ID, "1"),
		result(m.ToolCalls[1].ID, "2"))+`,"tools":[`+weather+`]}`)
	if want := `"content":[{"type":"thinking","thinking":"","signature":"one"},{"type":"thinking","thinking":"b",` +
		`"signature":"two"},{"type":"tool_use","id":"toolu_1"`; !strings.Contains(body, want) {
		t.Errorf("%s", body)
	}
}

func TestRequestIsSentWithKeyAndVersion(t *testing.T) {
	for _, stream := range []bool{false, true} {
		p, seen := serve(t, http.StatusOK, events(start, stopped("end_turn"), end))
		req := chatRequest(t, `{"model":"m",`+talk(user("q"))+`}`)
		if stream {
			req = streamRequest(t, "")
		}
		x, err := p.Prepare(providers.Call{Request: req, Model: model(t, noThinking)})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"model":"claude-3-haiku-20240307","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]`
		for range 2 { // an exchange can be sent again
			if stream {
				if _, err := show(t, x, req); err != nil {
					t.Fatal(err)
				}
			} else if _, err := completion(t, x, req); err == nil {
				t.Fatal("events pass as a whole answer")
			}
			text, err := io.ReadAll(seen.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body := want + map[bool]string{false: `}`, true: `,"stream":true}`}[stream]; string(text) != body {
				t.Errorf("sent %s, want %s", text, body)
			}
		}
		h := seen.Header
		if seen.Method != http.MethodPost || seen.URL.Path != "/v1/messages" || h.Get("x-api-key") != "sk-ant-test" ||
			h.Get("anthropic-version") != "2023-06-01" || h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "" {
			t.Errorf("%s %s %v", seen.Method, seen.URL, h)
		}
	}
}

func TestUpstreamStatusDecidesTheError(t *testing.T) {
	const keyRefused = "anthropic refused the gateway's credentials: an operator of the gateway has to check " +
		"the provider's key and its permissions"
	for _, tt := range []struct {
		status  int
		header  http.Header
		body    string
		want    int
		message string
		retry   bool
		wait    time.Duration
	}{
		{400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"},` +
			`"request_id":"r"}`, 400, "prompt is too long: 3 tokens > 2 maximum", false, 0},
		{400, nil, `{"type":"error","error":{"type":"authentication_error","message":"key sk-ant-abc"}}`, 502,
			keyRefused, false, 0},
		{400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the ` +
			`Anthropic API."}}`, 502, keyRefused, false, 0},
		{400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.name: Your credit balance is too low"}}`,
			400, "tools.0.name: Your credit balance is too low", false, 0},
		{401, http.Header{"X-Should-Retry": {"false"}}, `{"type":"error","error":{"type":"authentication_error",` +
			`"message":"invalid x-api-key"}}`, 502, keyRefused, false, 0},
		{404, nil, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}`, 404, "model: claude-nope", false, 0},
		{413, nil, `<html><h1>413</h1></html>`, 413, "anthropic answered with status 413", false, 0},
		{413, nil, `"too large"`, 413, "anthropic answered with status 413", false, 0},
		{429, http.Header{"Retry-After": {"7"}}, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down",` +
			`"details":null}}`, 429, "slow down", true, 7 * time.Second},
		{429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"cap",` +
			`"details":{"error_code":"enforced_spend_limit_reached"}}}`, 429, "cap", false, 0},
		{429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"odd","details":"text"}}`, 429, "odd", true, 0},
		{529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 502, "Overloaded", true, 0},
		{504, nil, `{"type":"error","error":{"type":"timeout_error","message":"late"}}`, 504, "late", true, 0},
		{500, nil, ``, 502, "anthropic answered with status 500", true, 0},
		{307, http.Header{"Location": {"/elsewhere"}}, ``, 502, "anthropic answered with a redirect, which the gateway does not follow", true, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for name := range tt.header {
				w.Header().Set(name, tt.header.Get(name))
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		for _, req := range []*llm.Request{chatRequest(t, `{"model":"m",`+talk(user("q"))+`}`), streamRequest(t, "")} {
			x, err := provider(server.URL).Prepare(providers.Call{Request: req, Model: model(t, budgetNew)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Open(t.Context(), testKey)
			e := api.AsError(err)
			if err == nil || e.Status != tt.want || e.Message != tt.message || e.UpstreamStatus != tt.status ||
				e.ShouldRetry() != tt.retry || e.RetryAfter != tt.wait {
				t.Errorf("%d %s: %+v", tt.status, tt.body, err)
			}
		}
		server.Close()
	}
}

func TestModelsReadsAllPages(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		if r.URL.Query().Get("after_id") == "" {
			_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-a","display_name":"A","created_at":"2025-09-29T00:00:00Z",`+
				`"max_input_tokens":1000000,"max_tokens":128000,"lifecycle":"active"},
				{"id":"claude-gone","lifecycle":"retired"},{"id":""}],"has_more":true,"first_id":"claude-a","last_id":"claude b&"}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"claude-c","created_at":"1970-01-01T00:00:00Z","max_tokens":null},`+
			`{"id":"claude-d"}],"has_more":false}`)
	}))
	defer server.Close()
	got, err := provider(server.URL).listModels(t.Context(), testKey)
	want := []providers.Listed{
		{ID: "claude-a", Created: 1759104000, Context: 1000000, MaxOutput: 128000},
		{ID: "claude-c"},
		{ID: "claude-d"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if want := []string{"/v1/models?limit=1000", "/v1/models?limit=1000&after_id=claude+b%26"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
}

func TestModelsReadsNoMoreThanMaxPages(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		_, _ = io.WriteString(w, `{"data":[{"id":"a"}],"has_more":true,"last_id":"`+strings.Repeat("x", pages)+`"}`)
	}))
	defer server.Close()
	if got, err := provider(server.URL).listModels(t.Context(), testKey); err != nil || len(got) != maxPages {
		t.Errorf("%d models of %d pages, %v", len(got), pages, err)
	}
	nonsense, _ := serve(t, http.StatusOK, `{}`)
	if _, err := nonsense.listModels(t.Context(), testKey); err == nil {
		t.Error("an empty object passes as a list")
	}
}
