package chat

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestNoFieldOrHeaderChangesTheUpstreamAddress(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	trap := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("stolen")))
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("good")))
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	body := f.Request(
		`,"api_base":"` + trap.URL + `","base_url":"` + trap.URL + `","api_key":"sk-mine","extra_body":{"api_base":"` + trap.URL + `"}`,
	)
	a := p.Chat(
		t,
		body,
		"X-Forwarded-Host",
		strings.TrimPrefix(trap.URL, "http://"),
		"X-Upstream-Url",
		trap.URL,
		"Authorization",
		"Bearer sk-client-secret",
	)
	if a.Status != 200 || !strings.Contains(a.Body, "good") || len(trap.Requests()) != 0 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, r := range u.Requests() {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "sk-client-secret") {
				t.Errorf("the client's credential travelled upstream in %s", name)
			}
		}
	}
}

func TestStrictParamsRefuseUnsupportedParameters(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	a := p.Chat(t, f.Request(`,"seed":7`))
	if a.Status != 200 || a.Header.Get("X-Gateway-Ignored-Params") != "seed" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	a = p.Chat(t, f.Request(`,"seed":7`), "X-Gateway-Strict-Params", "true")
	if e := a.APIError(t); a.Status != 400 || e.Code != "unsupported_value" || *e.Param != "seed" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestStrictParamsSettingIsTheDefaultOfTheHeader(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "STRICT_PARAMS=true", "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	for header, want := range map[string]int{"": 400, "true": 400, "1": 400, "false": 200, "0": 200} {
		a := p.Chat(t, f.Request(`,"seed":7`), "X-Gateway-Strict-Params", header)
		if a.Status != want || want == 200 && a.Header.Get("X-Gateway-Ignored-Params") != "seed" {
			t.Errorf("%q: %d %s", header, a.Status, a.Body)
		}
	}
}

func TestMembersInsideObjectsAreNamedOrRefused(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		body := f.Request(`,"response_format":{"type":"json_object","schema":{"type":"object"}},` +
			`"tools":[{"type":"function","defer_loading":true,"function":{"name":"f","input_examples":[{}]}}]`)
		a, strict := p.Chat(t, body), p.Chat(t, body, "X-Gateway-Strict-Params", "true")
		if f.Name == "openai" { // the client's bytes travel
			if sent := string(u.Requests()[0].Body); a.Status != 200 || strict.Status != 200 || !strings.Contains(sent, "defer_loading") {
				t.Errorf("%d, %d: %s", a.Status, strict.Status, sent)
			}
			return
		}
		ignored := strings.Split(a.Header.Get("X-Gateway-Ignored-Params"), ", ")
		for _, name := range []string{"response_format.schema", "tools[].defer_loading", "tools[].function.input_examples"} {
			if !slices.Contains(ignored, name) {
				t.Errorf("%s is not among %q", name, ignored)
			}
		}
		if strict.Status != 400 || strict.APIError(t).Code != "unsupported_value" || len(u.Requests()) != 1 {
			t.Errorf("strict: %d %s", strict.Status, strict.Body)
		}
	})
}

// A new value of OpenAI's needs no new gateway, nor does one of a compatible server.
func TestUnknownValuesTravelToOpenAIAndAreRefusedByNameElsewhere(t *testing.T) {
	t.Parallel()
	video := func(f gatewaytest.Provider) string {
		return `{"model":"` + f.Model + `","messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://x/y.mp4"}}]}]}`
	}
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.JSON(200, f.Answer("a")))
		_, limited := p.CreateLimitedKey(t, p.Login(t), `"models":["`+f.Model+`"]`)
		for param, body := range map[string]string{
			"messages[0].content[0].type": video(f), "reasoning_effort": f.Request(`,"reasoning_effort":"extreme"`),
			"tools[0].type":        f.Request(`,"tools":[{"type":"web_search"}]`),
			"response_format.type": f.Request(`,"response_format":{"type":"grammar","grammar":"x"}`),
			"tool_choice":          f.Request(`,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"hosted"}`),
		} {
			before := len(u.Requests())
			a := p.Chat(t, body)
			if f.Name != "openai" {
				if a.Status != 400 || *a.APIError(t).Param != param || len(u.Requests()) != before {
					t.Errorf("%s: %d %s", param, a.Status, a.Body)
				}
				continue
			}
			if a.Status != 200 || string(u.Requests()[before].Body) != body {
				t.Errorf("%s: %d %s", param, a.Status, a.Body)
			}
			if a := p.Chat(t, body, "X-API-Key", limited); a.Status != 400 || *a.APIError(t).Param != param {
				t.Errorf("%s of a key that is limited to models: %d %s", param, a.Status, a.Body)
			}
		}
	})
}

func TestIgnoredParamsHeaderIsValidForEveryName(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("a")))
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	var members strings.Builder
	for i := range 5000 {
		members.WriteString(`,"ümlaut` + strconv.Itoa(i) + `":1`)
	}
	for _, headers := range [][]string{nil, {"X-Gateway-Strict-Params", "true"}} {
		a := p.Chat(t, f.Request(members.String()), headers...)
		named := a.Header.Get("X-Gateway-Ignored-Params")
		if len(named) > 5000 || strings.ContainsFunc(named, func(r rune) bool { return r < ' ' || r > '~' }) || len(a.Body) > 2000 {
			t.Errorf("%d: header of %d bytes, body of %d", a.Status, len(named), len(a.Body))
		}
	}
}

func TestHostileHistoriesAreHandledInLinearTime(t *testing.T) {
	u := providertest.Serve(t)
	var settings []string
	for _, f := range gatewaytest.Providers() {
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL)
	}
	p := gatewaytest.Start(t, settings...)
	const many = 20_000
	var calls, results, turns, members, tools, allowed strings.Builder
	for i := range many {
		n := strconv.Itoa(i)
		comma := ","
		if i == 0 {
			comma = ""
		}
		calls.WriteString(comma + `{"id":"c` + n + `","type":"function","function":{"name":"f","arguments":"{}"}}`)
		results.WriteString(`,{"role":"tool","tool_call_id":"c` + n + `","content":"1"}`)
		turns.WriteString(
			`,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f` + n + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}`,
		)
		members.WriteString(`,"m` + n + `":1`)
		tools.WriteString(comma + `{"type":"function","function":{"name":"f` + n + `"}}`)
		allowed.WriteString(comma + `{"type":"function","function":{"name":"f` + n + `"}}`)
	}
	const user = `{"role":"user","content":"q"}`
	for name, rest := range map[string]string{
		"calls":   `"messages":[` + user + `,{"role":"assistant","tool_calls":[` + calls.String() + `]}` + results.String() + `]`,
		"turns":   `"messages":[` + user + turns.String() + `,` + user + `]`,
		"members": `"messages":[{"role":"user","content":"q"` + members.String() + `}]`,
		"tools":   `"messages":[` + user + `],"tools":[` + tools.String() + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + allowed.String() + `]}}`,
	} {
		for _, f := range gatewaytest.Providers() {
			u.Play(gatewaytest.JSON(200, f.Answer("a")))
			began := time.Now()
			a := p.Chat(t, `{"model":"`+f.Model+`",`+rest+`}`)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s, %s: %d after %s", name, f.Name, a.Status, took)
			}
		}
	}
}
