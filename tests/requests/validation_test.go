package requests

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestInvalidRequestsReachNoUpstream(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t, gatewaytest.JSON(200, `{}`))
	p := startWithAllProviders(t, u)
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for name, body := range map[string]string{
		"too deep":                   `{"model":"<>",` + gatewaytest.HiMessages + `,"x":` + deep + `}`,
		"the model twice":            `{"model":"<>","model":"<>",` + gatewaytest.HiMessages + `}`,
		"twice, once escaped":        `{"model":"<>",` + gatewaytest.HiMessages + `,"mod\u0065l":"<>"}`,
		"a role twice":               `{"model":"<>","messages":[{"role":"user","role":"user","content":"hi"}]}`,
		"in capitals":                `{"MODEL":"<>",` + gatewaytest.HiMessages + `}`,
		"messages in capitals":       `{"model":"<>","Messages":[{"role":"user","content":"hi"}]}`,
		"bytes behind":               `{"model":"<>",` + gatewaytest.HiMessages + `}x`,
		"a request behind":           `{"model":"<>",` + gatewaytest.HiMessages + `}{"model":"<>",` + gatewaytest.HiMessages + `}`,
		"NUL behind":                 `{"model":"<>",` + gatewaytest.HiMessages + "}\x00",
		"NaN":                        `{"model":"<>",` + gatewaytest.HiMessages + `,"temperature":NaN}`,
		"1e400":                      `{"model":"<>",` + gatewaytest.HiMessages + `,"top_p":1e400}`,
		"a fraction of tokens":       `{"model":"<>",` + gatewaytest.HiMessages + `,"max_tokens":1.5}`,
		"tokens below zero":          `{"model":"<>",` + gatewaytest.HiMessages + `,"max_completion_tokens":-5}`,
		"no tokens":                  `{"model":"<>",` + gatewaytest.HiMessages + `,"max_tokens":0}`,
		"tokens in words":            `{"model":"<>",` + gatewaytest.HiMessages + `,"max_tokens":"9"}`,
		"bytes that are no text":     `{"model":"<>","messages":[{"role":"user","content":"` + "\xff\xfe" + `"}]}`,
		"a half of a character":      `{"model":"<>","messages":[{"role":"user","content":"\ud83d"}]}`,
		"overlong":                   `{"model":"<>","messages":[{"role":"user","content":"` + "\xc0\xaf" + `"}]}`,
		"in an unknown field":        `{"model":"<>",` + gatewaytest.HiMessages + `,"x":"` + "\xff" + `"}`,
		"NUL in the model":           `{"model":"<>\u0000",` + gatewaytest.HiMessages + `}`,
		"no messages":                `{"model":"<>","messages":[]}`,
		"an unknown role":            `{"model":"<>","messages":[{"role":"Function","content":"hi"}]}`,
		"a function without name":    `{"model":"<>","messages":[{"role":"user","content":"hi"},{"role":"function","content":"1"}]}`,
		"a tool's answer without id": `{"model":"<>","messages":[{"role":"user","content":"hi"},{"role":"tool","content":"1"}]}`,
	} {
		for _, f := range gatewaytest.Providers() {
			want := 400
			if strings.HasPrefix(name, "NUL in ") {
				want = 404
			}
			a := p.Chat(t, strings.ReplaceAll(body, "<>", f.Model))
			if e := a.APIError(t); a.Status != want || e.Type != "invalid_request_error" || e.Message == "" {
				t.Errorf("%s, %s: %d %s", name, f.Name, a.Status, a.Body)
			}
		}
	}
	for name, body := range map[string]string{
		"too deep": `{"email":"a@x.com","password":"correct horse","name":"n","x":` + deep + `}`, "twice": `{"email":"a@x.com","email":"b@x.com","password":"correct horse","name":"n"}`,
		"in capitals": `{"EMAIL":"a@x.com","password":"correct horse","name":"n"}`, "bytes behind": gatewaytest.AdaAccount + "x", "no text": strings.Replace(gatewaytest.AdaAccount, "correct", "\xff", 1),
	} {
		for _, path := range []string{"/auth/register", "/auth/login"} {
			if a := p.Call(t, "POST", path, body); a.Status != 400 {
				t.Errorf("%s, %s: %d %s", name, path, a.Status, a.Body)
			}
		}
	}
	if n := len(u.Requests()); n != 0 {
		t.Errorf("%d calls reached an upstream", n)
	}
}

func TestNullMeansAbsentInEveryField(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := startWithAllProviders(t, u)
	request := strings.Fields(`model messages max_tokens max_completion_tokens temperature top_p top_k frequency_penalty presence_penalty stop
		n seed logit_bias logprobs top_logprobs stream stream_options tools tool_choice parallel_tool_calls functions function_call
		response_format reasoning_effort thinking cache_control user safety_identifier metadata service_tier modalities audio
		web_search_options prediction store`)
	message := strings.Fields(`role content name tool_calls tool_call_id function_call refusal audio cache_control reasoning_content
		reasoning_details images annotations`)
	needed := map[string]bool{"model": true, "messages": true, "role": true, "content": true}
	try := func(f gatewaytest.Provider, name, param, body string) {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		a := p.Chat(t, body)
		if !needed[name] {
			if a.Status != 200 {
				t.Errorf("%s, %s: %d %s", f.Name, param, a.Status, a.Body)
			}
			return
		}
		if e := a.APIError(t); a.Status != 400 || e.Code != "missing_field" || e.Param == nil || *e.Param != param {
			t.Errorf("%s, %s: %d %s", f.Name, param, a.Status, a.Body)
		}
	}
	for _, f := range gatewaytest.Providers() {
		for _, name := range request {
			members := map[string]json.RawMessage{
				"model":    json.RawMessage(gatewaytest.Quote(f.Model)),
				"messages": json.RawMessage(`[{"role":"user","content":"hi"}]`),
			}
			members[name] = json.RawMessage("null")
			body, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			try(f, name, name, string(body))
		}
		for _, name := range message {
			members := map[string]any{"role": "user", "content": "hi"}
			members[name] = nil
			body, err := json.Marshal(map[string]any{"model": f.Model, "messages": []any{members}})
			if err != nil {
				t.Fatal(err)
			}
			try(f, name, "messages[0]."+name, string(body))
		}
	}
}

// TestTenThousandMessagesAreServed sends as many messages as a request may hold.
func TestTenThousandMessagesAreServed(t *testing.T) {
	t.Parallel()
	const many = 9_999 // and the last: a request holds no more
	u := providertest.Serve(t)
	p := startWithAllProviders(t, u, "LOG_LEVEL=info")
	var b strings.Builder
	for i := range many {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		b.WriteString(`{"role":"` + role + `","content":"m` + strconv.Itoa(i) + `"},`)
	}
	messages := b.String() + `{"role":"user","content":"last"}`
	for _, f := range gatewaytest.Providers() {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		began := time.Now()
		a := p.Chat(t, `{"model":"`+f.Model+`","messages":[`+messages+`]}`)
		if took := time.Since(began); a.Status != 200 || took > 10*time.Second {
			t.Errorf("%s: %d after %s", f.Name, a.Status, took)
			continue
		}
		sent := string(u.Requests()[0].Body)
		if strings.Count(sent, `"m`) < many || !strings.Contains(sent, `"m9998"`) || !strings.Contains(sent, `"last"`) {
			t.Errorf("%s: messages are missing in %d bytes", f.Name, len(sent))
		}
	}
}
