package app

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/models/api"
	"modelgateway/providers/providertest"
)

// configured is a gateway whose three providers are all u.
func configured(t testing.TB, u *providertest.Upstream, settings ...string) *program {
	t.Helper()
	for _, f := range families() {
		settings = append(settings, f.key+"_API_KEY=sk-x", f.key+"_BASE_URL="+u.URL)
	}
	return start(t, settings...)
}

func TestQ1BodiesOfAccountsAndChatsEndAtTheirBound(t *testing.T) {
	p := start(t, "SIMULATOR=true")
	token := p.login(t)
	const small, large = 64 << 10, 32 << 20
	fill := func(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }
	account := func(name string) string {
		return `{"email":"` + name + `@example.com","password":"correct horse battery","name":"n"}`
	}
	for path, body := range map[string]string{
		"/auth/register": account("bound"), "/auth/login": strings.Replace(ada, " ", "", 1), "/auth/keys": `{"name":"n"}`,
	} {
		if a := p.call(t, "POST", path, fill(body, small), token...); a.status >= 300 {
			t.Errorf("%s: %d for what is just not too large: %s", path, a.status, a.body)
		}
		if a := p.call(t, "POST", path, fill(body, small+1), token...); a.status != 413 || a.fault(t).Code != "request_too_large" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	const rest = 512 << 10 // more than net/http reads of what nobody wants
	for path, bound := range map[string]int{"/auth/register": small, "/auth/login": small, "/auth/keys": small, "/v1/chat/completions": large} {
		head := "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: " + token[1] + "\r\n"
		began := time.Now()
		answers, closed := p.wire(t, head+length(bound+rest)+"\r\n{")
		if len(answers) != 1 || answers[0].status != 413 || !closed || time.Since(began) > 2*time.Second {
			t.Errorf("%s: %v, closed %v after %s: the rest was waited for", path, answers, closed, time.Since(began))
		}
		if bound == large {
			continue // in chunks it has a test of its own, with a smaller bound
		}
		answers, closed = p.wire(t, head+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("8000\r\n"+strings.Repeat(" ", 0x8000)+"\r\n", 2+rest/0x8000))
		if len(answers) > 1 || !closed || len(answers) == 1 && answers[0].status != 413 {
			t.Errorf("%s, in chunks: %v, closed %v", path, answers, closed)
		}
	}
}

func TestQ2Q3Q4Q5Q6Q7Q8Q9WhatIsWrongReachesNoUpstream(t *testing.T) {
	u := providertest.Serve(t, jsonScript(200, `{}`))
	p := configured(t, u)
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for name, body := range map[string]string{
		"Q2 too deep":                   `{"model":"<>",` + hi + `,"x":` + deep + `}`,
		"Q3 the model twice":            `{"model":"<>","model":"<>",` + hi + `}`,
		"Q3 twice, once escaped":        `{"model":"<>",` + hi + `,"mod\u0065l":"<>"}`,
		"Q3 a role twice":               `{"model":"<>","messages":[{"role":"user","role":"user","content":"hi"}]}`,
		"Q4 in capitals":                `{"MODEL":"<>",` + hi + `}`,
		"Q4 messages in capitals":       `{"model":"<>","Messages":[{"role":"user","content":"hi"}]}`,
		"Q5 bytes behind":               `{"model":"<>",` + hi + `}x`,
		"Q5 a request behind":           `{"model":"<>",` + hi + `}{"model":"<>",` + hi + `}`,
		"Q5 NUL behind":                 `{"model":"<>",` + hi + "}\x00",
		"Q6 NaN":                        `{"model":"<>",` + hi + `,"temperature":NaN}`,
		"Q6 1e400":                      `{"model":"<>",` + hi + `,"top_p":1e400}`,
		"Q6 a fraction of tokens":       `{"model":"<>",` + hi + `,"max_tokens":1.5}`,
		"Q6 tokens below zero":          `{"model":"<>",` + hi + `,"max_completion_tokens":-5}`,
		"Q6 no tokens":                  `{"model":"<>",` + hi + `,"max_tokens":0}`,
		"Q6 tokens in words":            `{"model":"<>",` + hi + `,"max_tokens":"9"}`,
		"Q7 bytes that are no text":     `{"model":"<>","messages":[{"role":"user","content":"` + "\xff\xfe" + `"}]}`,
		"Q7 a half of a character":      `{"model":"<>","messages":[{"role":"user","content":"\ud83d"}]}`,
		"Q7 overlong":                   `{"model":"<>","messages":[{"role":"user","content":"` + "\xc0\xaf" + `"}]}`,
		"Q7 in a field nobody knows":    `{"model":"<>",` + hi + `,"x":"` + "\xff" + `"}`,
		"Q8 NUL in the model":           `{"model":"<>\u0000",` + hi + `}`,
		"Q9 no messages":                `{"model":"<>","messages":[]}`,
		"Q9 an unknown role":            `{"model":"<>","messages":[{"role":"Function","content":"hi"}]}`,
		"Q9 a function without name":    `{"model":"<>","messages":[{"role":"user","content":"hi"},{"role":"function","content":"1"}]}`,
		"Q9 a tool's answer without id": `{"model":"<>","messages":[{"role":"user","content":"hi"},{"role":"tool","content":"1"}]}`,
	} {
		for _, f := range families() {
			want := 400
			if strings.HasPrefix(name, "Q8") {
				want = 404
			}
			a := p.chat(t, strings.ReplaceAll(body, "<>", f.model))
			if e := a.fault(t); a.status != want || e.Type != "invalid_request_error" || e.Message == "" {
				t.Errorf("%s, %s: %d %s", name, f.name, a.status, a.body)
			}
		}
	}
	for name, body := range map[string]string{
		"Q2 too deep": `{"email":"a@x.com","password":"correct horse","name":"n","x":` + deep + `}`, "Q3 twice": `{"email":"a@x.com","email":"b@x.com","password":"correct horse","name":"n"}`,
		"Q4 in capitals": `{"EMAIL":"a@x.com","password":"correct horse","name":"n"}`, "Q5 bytes behind": ada + "x", "Q7 no text": strings.Replace(ada, "correct", "\xff", 1),
	} {
		for _, path := range []string{"/auth/register", "/auth/login"} {
			if a := p.call(t, "POST", path, body); a.status != 400 {
				t.Errorf("%s, %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
	if n := len(u.Requests()); n != 0 {
		t.Errorf("%d calls reached an upstream", n)
	}
}

func TestQ9NullIsAbsentInEveryField(t *testing.T) {
	u := providertest.Serve(t)
	p := configured(t, u)
	fields := func(of reflect.Type) (names []string) {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
		return names
	}
	needed := map[string]bool{"model": true, "messages": true, "role": true, "content": true}
	try := func(f family, name, param, body string) {
		u.Play(jsonScript(200, f.answer("a")))
		a := p.chat(t, body)
		if !needed[name] {
			if a.status != 200 {
				t.Errorf("%s, %s: %d %s", f.name, param, a.status, a.body)
			}
			return
		}
		if e := a.fault(t); a.status != 400 || e.Code != "missing_field" || e.Param == nil || *e.Param != param {
			t.Errorf("%s, %s: %d %s", f.name, param, a.status, a.body)
		}
	}
	request, message := fields(reflect.TypeFor[api.ChatRequest]()), fields(reflect.TypeFor[api.Message]())
	if len(request) < 30 || len(message) < 8 {
		t.Fatalf("the fields are not found: %v, %v", request, message)
	}
	for _, f := range families() {
		for _, name := range request {
			members := map[string]json.RawMessage{"model": json.RawMessage(quote(f.model)), "messages": json.RawMessage(`[{"role":"user","content":"hi"}]`)}
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
			body, err := json.Marshal(map[string]any{"model": f.model, "messages": []any{members}})
			if err != nil {
				t.Fatal(err)
			}
			try(f, name, "messages[0]."+name, string(body))
		}
	}
}

func TestQ9AHundredThousandMessagesAreServedInGoodTime(t *testing.T) {
	const many = 100_000
	u := providertest.Serve(t)
	p := configured(t, u, "LOG_LEVEL=info")
	var b strings.Builder
	for i := range many {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		b.WriteString(`{"role":"` + role + `","content":"m` + strconv.Itoa(i) + `"},`)
	}
	messages := b.String() + `{"role":"user","content":"last"}`
	for _, f := range families() {
		u.Play(jsonScript(200, f.answer("a")))
		began := time.Now()
		a := p.chat(t, `{"model":"`+f.model+`","messages":[`+messages+`]}`)
		if took := time.Since(began); a.status != 200 || took > 30*time.Second {
			t.Errorf("%s: %d after %s", f.name, a.status, took)
			continue
		}
		sent := string(u.Requests()[0].Body)
		if strings.Count(sent, `"m`) < many || !strings.Contains(sent, `"m99999"`) || !strings.Contains(sent, `"last"`) {
			t.Errorf("%s: messages are missing in %d bytes", f.name, len(sent))
		}
	}
}

func TestQ16NothingAClientSaysBreaksALineOfTheLogOrAHeader(t *testing.T) {
	u := providertest.Serve(t)
	p := configured(t, u, "CORS_ALLOWED_ORIGINS=https://a.example")
	const evil = "a\r\nX-Injected: 1\r\n\r\n{\"level\":\"ERROR\"}\u001b[31m\u2028\u202e"
	text := quote(evil)
	count := 0
	judge := func(what string, a answer) {
		count++
		for name, values := range a.header {
			if name == "X-Injected" || strings.ContainsAny(strings.Join(values, ""), "\r\n\x1b\u2028\u202e") {
				t.Errorf("%s: the answer's header %s is %q", what, name, values)
			}
		}
	}
	token := p.login(t)
	count += 2 // of the login
	for _, f := range families() {
		for _, members := range []string{"", streaming} {
			u.Play(jsonScript(200, f.answer("a")))
			if members != "" {
				u.Play(events(providertest.Proper, f.start, f.text("a"), f.end))
			}
			a := p.chat(t, `{"model":"`+f.model+`","messages":[{"role":"user","name":`+text+`,"content":`+text+`}],"user":`+text+`,`+text+`:1`+members+`}`)
			judge(f.name+members, a)
			if a.status != 200 && a.status != 400 {
				t.Errorf("%s: %d %s", f.name, a.status, a.body)
			}
		}
	}
	judge("the model", p.chat(t, `{"model":`+text+`,`+hi+`}`))
	judge("a role", p.chat(t, `{"model":"gpt-4","messages":[{"role":`+text+`,"content":"x"}]}`))
	judge("a path", p.get(t, "/v1/models/"+url.PathEscape(evil)))
	judge("a path of nobody", p.get(t, "/"+url.PathEscape(evil)))
	judge("a query", p.get(t, "/v1/models?"+url.QueryEscape(evil)))
	judge("a key's name", p.call(t, "POST", "/auth/keys", `{"name":`+text+`}`, token...))
	judge("a user's name", p.call(t, "POST", "/auth/register", `{"email":"evil@example.com","password":"correct horse","name":`+text+`}`))
	judge("a key's id", p.call(t, "DELETE", "/auth/keys/"+url.PathEscape(evil), "", token...))
	judge("an address", p.call(t, "POST", "/auth/login", `{"email":`+text+`,"password":"correct horse"}`))
	judge("the origin", p.call(t, "GET", "/v1/models", "", "Origin", "https://a.example\u2028", "X-Request-Id", "a\u2028b"))
	answers, _ := p.wire(t, probe+"X-Request-Id: a\r\n X-Injected: 1\r\nConnection: close\r\n\r\n")
	if len(answers) != 1 || strings.Contains(answers[0].header.Get("X-Request-Id"), "Injected") {
		t.Errorf("a folded id: %+v", answers)
	}
	judge("a folded id", answers[0])
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	lines := 0
	for line := range strings.Lines(p.log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("not one line of JSON: %q", line)
		}
		if fields["msg"] == "request" {
			lines++
		}
		if strings.Contains(line, "Injected") || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\n\x1b\u2028\u202e") {
			t.Errorf("the log repeats it: %q", line)
		}
	}
	if lines != count {
		t.Errorf("%d requests left %d lines", count, lines)
	}
}

func TestQ19HeadAndOptionsGiveNothingAway(t *testing.T) {
	p := start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret)
	for _, path := range []string{"/health", "/livez", "/readyz"} {
		if a := p.call(t, "HEAD", path, ""); a.status != 200 || a.body != "" {
			t.Errorf("HEAD %s: %d %q", path, a.status, a.body)
		}
	}
	for path, allowed := range map[string]string{
		"/v1/models": "GET", "/v1/models/gpt-4": "GET", "/v1/chat/completions": "POST", "/auth/login": "POST", "/auth/register": "POST", "/health": "GET",
	} {
		for _, method := range []string{"OPTIONS", "TRACE", "PATCH"} {
			a := p.call(t, method, path, "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST", "X-Marked", "canary")
			if a.status != 405 || !strings.Contains(a.header.Get("Allow"), allowed) || strings.Contains(a.body, "canary") {
				t.Errorf("%s %s: %d %v %s", method, path, a.status, a.header, a.body)
			}
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s without CORS_ALLOWED_ORIGINS", method, path, name)
				}
			}
		}
	}
	if a := p.call(t, "HEAD", "/v1/models", ""); a.status != 405 {
		t.Errorf("HEAD /v1/models: %d", a.status)
	}
}

func TestQ21OnlyTheExactNameIsAModel(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		u.Play(jsonScript(200, f.answer("a")))
		m := f.model
		for _, name := range []string{
			strings.ToUpper(m), strings.ToUpper(m[:1]) + m[1:], " " + m, m + " ", m + "\n", m + "\t", m + "\u0000", m + "\u200b", "\ufeff" + m, m + "\u00a0",
			m[:len(m)-1], m + "0", m + "-latest", m + ":latest", m + "@1", m + "?", m + "#", m + "/", "/" + m, "./" + m, "models/" + m, f.name + "/" + m, f.name + ":" + m,
			strings.Replace(m, "-", "\u2010", 1), strings.Replace(m, "-", "_", 1), strings.Replace(m, "a", "\u0430", 1) + "\u0301", m + "," + m, `"` + m + `"`, "*", "..", m + "\u0000" + m,
		} {
			if a := p.chat(t, `{"model":`+quote(name)+`,`+hi+`}`); a.status != 404 || a.fault(t).Code != "model_not_found" {
				t.Errorf("%q: %d %s", name, a.status, a.body)
			}
			if a := p.get(t, "/v1/models/"+url.PathEscape(name)); a.status == 200 {
				t.Errorf("%q is listed: %s", name, a.body)
			}
		}
		if a := p.chat(t, f.request("")); a.status != 200 || len(u.Requests()) != 1 {
			t.Errorf("the exact name: %d, and %d calls upstream", a.status, len(u.Requests()))
		}
	})
}
