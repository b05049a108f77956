package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// responsesItems are what a model thinks and then calls.
const responsesItems = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAsecret"},` +
	`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`

func responsesBody(items string) string {
	return `{"id":"resp_1","object":"response","created_at":5,"model":"gpt-5.5-2026-04-23","status":"completed","output":[` + items +
		`],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":9,"output_tokens_details":` +
		`{"reasoning_tokens":4},"total_tokens":39}}`
}

// responsesScript is such an answer, whole or as a stream.
func responsesScript(streamed bool) providertest.Script {
	whole := responsesBody(responsesItems)
	if !streamed {
		return gatewaytest.JSON(200, whole)
	}
	thought, call, _ := strings.Cut(responsesItems, `,{"type":"function_call"`)
	return gatewaytest.Events(providertest.Proper,
		`data: {"type":"response.created","response":{"id":"resp_1","model":"gpt-5.5-2026-04-23","created_at":5}}`+"\n\n",
		`data: {"type":"response.output_item.done","output_index":0,"item":`+thought+"}\n\n",
		`data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"call_1","name":"get_weather"}}`+"\n\n",
		`data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"city\":"}`+"\n\n",
		`data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call"`+call+"}\n\n",
		`data: {"type":"response.completed","response":`+whole+"}\n\n")
}

const forecast = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]`

// calledBy are the calls of an answer, whole or streamed: the id of the one, and what its
// arguments are together.
func calledBy(t *testing.T, body string, streamed bool) (id, arguments, finish string) {
	t.Helper()
	type said struct {
		Calls []struct {
			ID       string
			Function struct{ Arguments string }
		} `json:"tool_calls"`
	}
	texts := []string{body}
	if streamed {
		texts = strings.Split(strings.TrimSuffix(body, "data: [DONE]\n\n"), "\n\n")
	}
	for _, text := range texts {
		var chunk struct {
			Choices []struct {
				Delta, Message said
				Finish         *string `json:"finish_reason"`
			}
		}
		text = strings.TrimPrefix(text, "data: ")
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &chunk); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, c := range chunk.Choices {
			for _, call := range append(c.Delta.Calls, c.Message.Calls...) {
				id += call.ID
				arguments += call.Function.Arguments
			}
			if c.Finish != nil {
				finish = *c.Finish
			}
		}
	}
	return id, arguments, finish
}

// Chat completions take functions of gpt-5.4 and later only without reasoning. Such a
// request goes to the Responses API, is answered as chat completions are, and the model
// gets its reasoning back with the results.
func TestFunctionsWithReasoningGoToTheResponsesAPI(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL, "MAX_RETRIES=0")
	for name, streamed := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			stream := map[bool]string{true: `,"stream":true`}[streamed]
			u.Play(responsesScript(streamed), gatewaytest.JSON(200, responsesBody("")))
			before := len(u.Requests())
			a := p.Call(t, "POST", "/v1/chat/completions", `{"model":"gpt-5.5","messages":[{"role":"user","content":"q"}],`+
				`"reasoning_effort":"high","verbosity":"low"`+forecast+stream+`}`)
			id, arguments, finish := calledBy(t, a.Body, streamed)
			if a.Status != 200 || arguments != `{"city":"Paris"}` || finish != "tool_calls" || !strings.HasPrefix(id, "call_1") ||
				a.Header.Get("X-Gateway-Ignored-Params") != "" {
				t.Errorf("%d %s %s %s %v", a.Status, a.Body, arguments, finish, a.Header)
			}
			if !strings.Contains(a.Body, `"format":"openai-responses-v1"`) || !strings.Contains(a.Body, `"id":"rs_1"`) {
				t.Errorf("the reasoning is missing: %s", a.Body)
			}
			// A client that keeps only what it knows of the answer.
			a = p.Call(t, "POST", "/v1/chat/completions", `{"model":"gpt-5.5","messages":[{"role":"user","content":"q"},{"role":"assistant",`+
				`"content":null,"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},`+
				`{"role":"tool","tool_call_id":"`+id+`","content":"rain"}]`+forecast+`}`)
			sent := u.Requests()[before:]
			if len(sent) != 2 || sent[0].Path != "/v1/responses" || sent[1].Path != "/v1/responses" || a.Status != 200 {
				t.Fatalf("%d %s after %+v", a.Status, a.Body, sent)
			}
			for _, want := range []string{`"reasoning":{"effort":"high"}`, `"store":false`, `"text":{"verbosity":"low"}`} {
				if !strings.Contains(string(sent[0].Body), want) {
					t.Errorf("%s is not in %s", want, sent[0].Body)
				}
			}
			const back = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAsecret"},` +
				`{"type":"function_call","call_id":"call_1","name":"get_weather","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"call_1","output":"rain"}`
			if !strings.Contains(string(sent[1].Body), back) {
				t.Errorf("%s is not in %s", back, sent[1].Body)
			}
		})
	}
}

// What the Responses API has not stays with chat completions, as does all that these serve.
func TestOtherRequestsStayWithChatCompletions(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL, "GROQ_API_KEY=sk-g", "GROQ_BASE_URL="+u.URL)
	for members, ignored := range map[string]string{
		`"model":"gpt-5.5"`:                                                          "",
		`"model":"gpt-4.1"` + forecast:                                               "",
		`"model":"gpt-5.4"` + forecast:                                               "",
		`"model":"gpt-5.5","reasoning_effort":"none"` + forecast:                     "",
		`"model":"gpt-5.5","n":2` + forecast:                                         "reasoning_effort",
		`"model":"gpt-5.5","logit_bias":{"1":1}` + forecast:                          "reasoning_effort",
		`"model":"gpt-5.5","seed":1` + forecast:                                      "reasoning_effort",
		`"model":"gpt-5.5","prediction":{"type":"content","content":"x"}` + forecast: "reasoning_effort",
		`"model":"gpt-5.2","reasoning_effort":"high","seed":1` + forecast:            "",
		`"model":"groq/gpt-5.5","reasoning_effort":"high"` + forecast:                "",
	} {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		a := p.Call(t, "POST", "/v1/chat/completions", `{`+members+`,"messages":[{"role":"user","content":"q"}]}`)
		sent := u.Requests()
		if last := sent[len(sent)-1]; a.Status != 200 || last.Path != "/v1/chat/completions" || a.Header.Get("X-Gateway-Ignored-Params") != ignored {
			t.Errorf("%s: %d %s, %s %s, ignored %q", members, a.Status, a.Body, last.Path, last.Body, a.Header.Get("X-Gateway-Ignored-Params"))
		}
	}
}
