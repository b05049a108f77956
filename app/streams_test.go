package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
)

// family is one provider with the pieces its answers are made of.
type family struct {
	name, model, key string
	start            string              // of a stream
	text             func(string) string // one fragment
	end              string              // finish and end mark
	fault            string              // an error inside a stream
	answer           func(string) string // a whole answer
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always can be
	return string(text)
}

func families() []family {
	return []family{
		{
			name: "openai", model: "gpt-4", key: "OPENAI",
			start: `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
			text: func(s string) string {
				return `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{"content":` + quote(s) + `},"finish_reason":null}]}` + "\n\n"
			},
			end: `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
				`data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\ndata: [DONE]\n\n",
			fault: `data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}` + "\n\n",
			answer: func(s string) string {
				return `{"id":"x","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":` + quote(s) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`
			},
		},
		{
			name: "anthropic", model: "claude-haiku-4-5-20251001", key: "ANTHROPIC",
			start: "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
				"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			text: func(s string) string {
				return "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(s) + `}}` + "\n\n"
			},
			end: "event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\n" +
				"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}` + "\n\n" +
				"event: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n",
			fault: "event: error\ndata: " + `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}` + "\n\n",
			answer: func(s string) string {
				return `{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":` + quote(s) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`
			},
		},
		{
			name: "gemini", model: "gemini-2.5-flash", key: "GEMINI",
			start: `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n",
			text: func(s string) string {
				return `data: {"candidates":[{"content":{"parts":[{"text":` + quote(s) + `}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n"
			},
			end:   `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"gemini-2.5-flash","responseId":"x"}` + "\r\n\r\n",
			fault: `data: {"error":{"code":500,"message":"An internal error has occurred","status":"INTERNAL"}}` + "\r\n\r\n",
			answer: func(s string) string {
				return `{"candidates":[{"content":{"parts":[{"text":` + quote(s) + `}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"gemini-2.5-flash","responseId":"x"}`
			},
		},
	}
}

// request is a chat request for the family's model.
func (f family) request(members string) string {
	return `{"model":"` + f.model + `",` + hi + members + `}`
}

const streaming = `,"stream":true`

// events is a script of Server-Sent Events, each sent by itself.
func events(end providertest.End, pieces ...string) providertest.Script {
	s := providertest.Script{Header: http.Header{"Content-Type": {"text/event-stream"}}, End: end}
	for _, p := range pieces {
		s.Pieces = append(s.Pieces, []byte(p))
	}
	return s
}

func jsonScript(status int, body string) providertest.Script {
	return providertest.Script{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(body)}}
}

// each runs a test for every family, with a gateway whose upstream is u.
func each(t *testing.T, test func(t *testing.T, f family, u *providertest.Upstream, p *program), settings ...string) {
	t.Helper()
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := providertest.Serve(t)
			p := start(t, append([]string{f.key + "_API_KEY=sk-canary-" + f.name, f.key + "_BASE_URL=" + u.URL}, settings...)...)
			test(t, f, u, p)
		})
	}
}

func TestAnswersAndStreamsOfEveryProvider(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		u.Play(jsonScript(200, f.answer("Hello <é>")))
		a := p.chat(t, f.request(""))
		var whole struct {
			ID, Object, Model string
			Choices           []struct {
				Message      struct{ Role, Content string }
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Total      int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(a.body), &whole); err != nil || a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if whole.Object != "chat.completion" || whole.Choices[0].Message.Content != "Hello <é>" || whole.Choices[0].FinishReason != "stop" || whole.Usage.Total != 7 {
			t.Errorf("%s", a.body)
		}
		if a.header.Get("X-Gateway-Provider") != f.name || a.header.Get("Openai-Processing-Ms") == "" {
			t.Errorf("%v", a.header)
		}
		u.Play(events(providertest.Proper, f.start, f.text("Hello "), f.text("<é>"), f.end))
		for _, usage := range []bool{false, true} {
			members := streaming
			if usage {
				members += `,"stream_options":{"include_usage":true}`
			}
			s := p.chat(t, f.request(members))
			if s.err != nil || !strings.HasSuffix(s.body, "data: [DONE]\n\n") || !strings.Contains(s.body, `"content":"<é>"`) || !strings.Contains(s.body, `"finish_reason":"stop"`) {
				t.Errorf("%v %s", s.err, s.body)
			}
			if strings.Contains(s.body, `"total_tokens":7`) != usage || strings.Contains(s.body, `"usage":null`) != usage {
				t.Errorf("usage %v: %s", usage, s.body)
			}
			if s.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || s.header.Get("Cache-Control") != "no-cache" || s.header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%v", s.header)
			}
		}
	})
}

func TestAStreamThatBreaksOffIsNeverShownAsTheEnd(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for name, script := range map[string]providertest.Script{
			"truncated": events(providertest.Proper, f.start, f.text("par")),
			"reset":     events(providertest.Reset, f.start, f.text("par")),
			"error":     events(providertest.Proper, f.start, f.text("par"), f.fault),
			"error, then goes on as if nothing had been": events(providertest.Proper, f.start, f.text("par"), f.fault, f.text("no"), f.end),
			"nonsense": events(providertest.Proper, f.start, f.text("par"), "data: {\"type\":\n\n", f.end),
		} {
			u.Play(script)
			s := p.chat(t, f.request(streaming))
			if s.status != 200 || s.err == nil {
				t.Errorf("%s: status %d, and the body came to a proper end", name, s.status)
			}
			if !strings.Contains(s.body, `"content":"par"`) || strings.Contains(s.body, "[DONE]") || strings.Contains(s.body, `"finish_reason":"`) || !strings.Contains(s.body, `data: {"error":{"type":"api_error"`) {
				t.Errorf("%s: %s", name, s.body)
			}
		}
	})
}

func TestAnErrorThatComesFirstKeepsItsStatus(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for name, script := range map[string]providertest.Script{
			"error event":  events(providertest.Proper, f.fault),
			"nothing":      events(providertest.Proper),
			"reset":        events(providertest.Reset),
			"HTML":         {Header: http.Header{"Content-Type": {"text/html"}}, Pieces: [][]byte{[]byte("<html>Bad Gateway</html>")}},
			"status 500":   jsonScript(500, `{}`),
			"a redirect":   {Status: 307, Header: http.Header{"Location": {"http://169.254.169.254/latest"}}},
			"status 401":   jsonScript(401, `{"error":{"message":"bad key sk-canary-`+f.name+`"}}`),
			"empty object": jsonScript(200, `{}`),
		} {
			for _, members := range []string{"", streaming} {
				u.Play(script)
				a := p.chat(t, f.request(members))
				e := a.fault(t)
				if a.status != 502 || e.Type != "api_error" || e.Code != "provider_error" || e.Provider != f.name || strings.Contains(a.body, "canary") {
					t.Errorf("%s%s: %d %s", name, members, a.status, a.body)
				}
				u.Play(jsonScript(200, f.answer("fine"))) // or the circuit opens
				if a := p.chat(t, f.request("")); a.status != 200 {
					t.Errorf("a good answer after %s%s: %d %s", name, members, a.status, a.body)
				}
			}
		}
	}, "LOG_LEVEL=info", "MAX_RETRIES=1")
}

func TestLongLinesPass(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
			u.Play(events(providertest.Proper, f.start, f.text(long[:size]), f.end))
			s := p.chat(t, f.request(streaming))
			if s.err != nil || strings.Count(s.body, "x") < size || !strings.HasSuffix(s.body, "[DONE]\n\n") {
				t.Errorf("%d bytes: %v, %d bytes came", size, s.err, len(s.body))
			}
		}
		u.Play(events(providertest.Proper, f.start, "data: "+strings.Repeat("x", 17<<20), f.end))
		// Whether it is an answer's status or a cut stream depends on what had come before.
		s := p.chat(t, f.request(streaming))
		if s.err == nil && s.status != 502 || strings.Contains(s.body, "[DONE]") || !strings.Contains(s.body, "provider_error") {
			t.Errorf("a line without an end: %v, %.300s", s.err, s.body)
		}
	})
}

func TestAClientThatLeavesCancelsItsUpstream(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for name, tt := range map[string]struct {
			script  providertest.Script
			members string
			read    bool // wait for the first event before leaving
		}{
			"before the header":           {events(providertest.Hold), "", false},
			"before the header, a stream": {events(providertest.Hold), streaming, false},
			"inside an answer":            {providertest.Script{Pieces: [][]byte{[]byte("{")}, End: providertest.Hold}, "", false},
			"inside a stream":             {events(providertest.Hold, f.start, f.text("a")), streaming, true},
		} {
			u.Play(tt.script)
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(f.request(tt.members)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			left := make(chan struct{})
			go func() {
				defer close(left)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return
				}
				_, _ = resp.Body.Read(make([]byte, 1))
				cancel()
				_ = resp.Body.Close()
			}()
			if !tt.read {
				until(t, "the call reaches the upstream", func() bool { return len(u.Requests()) == 1 })
				cancel()
			}
			<-left
			began := time.Now()
			if _, ok := u.Gone(5 * time.Second); !ok || time.Since(began) > time.Second {
				t.Errorf("%s: the upstream learned of it after %s (%v)", name, time.Since(began), ok)
			}
			cancel()
		}
	})
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}

func TestNothingIsLeftBehindByClientsThatLeave(t *testing.T) {
	f := families()[0]
	u := providertest.Serve(t)
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	u.Play(events(providertest.Hold, f.start, f.text("a")))
	leave := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(f.request(streaming)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	leave()
	before := runtime.NumGoroutine()
	for range 100 {
		leave()
	}
	http.DefaultClient.CloseIdleConnections()
	until(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
}

func TestSilenceIsFilledWithComments(t *testing.T) {
	f := families()[1]
	u := providertest.Serve(t)
	p := start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL, "STREAM_KEEPALIVE_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=3")
	u.Play(events(providertest.Hold, f.start, f.text("a")))
	s := p.chat(t, f.request(streaming))
	if !strings.Contains(s.body, "\n\n: ping\n\n") || !strings.Contains(s.body, `"code":"provider_error"`) || strings.Contains(s.body, "[DONE]") || s.err == nil {
		t.Errorf("%v %s", s.err, s.body)
	}
}

func TestAnUpstreamThatDoesNotAnswerIsATimeOut(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		u.Play(events(providertest.Hold))
		for _, members := range []string{"", streaming} {
			a := p.chat(t, f.request(members))
			if a.status != 504 || a.fault(t).Code != "provider_error" || a.header.Get("X-Should-Retry") != "true" {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
	}, "UPSTREAM_TIMEOUT_SECONDS=1")
}

func TestTheWaitAnUpstreamAsksForIsPassedOn(t *testing.T) {
	f := families()[0]
	u := providertest.Serve(t)
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	for wait, retry := range map[int]bool{7: true, 3600: false} {
		script := jsonScript(429, `{"error":{"message":"slow down","type":"requests"}}`)
		script.Header.Set("Retry-After", strconv.Itoa(wait))
		u.Play(script)
		a := p.chat(t, f.request(""))
		if a.status != 429 || a.header.Get("Retry-After") != strconv.Itoa(wait) || a.header.Get("X-Should-Retry") != strconv.FormatBool(retry) {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
}

func TestNoFieldOrHeaderChangesWhereARequestGoes(t *testing.T) {
	f := families()[0]
	trap := providertest.Serve(t, jsonScript(200, f.answer("stolen")))
	u := providertest.Serve(t, jsonScript(200, f.answer("good")))
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	body := f.request(`,"api_base":"` + trap.URL + `","base_url":"` + trap.URL + `","api_key":"sk-mine","extra_body":{"api_base":"` + trap.URL + `"}`)
	a := p.chat(t, body, "X-Forwarded-Host", strings.TrimPrefix(trap.URL, "http://"), "X-Upstream-Url", trap.URL, "Authorization", "Bearer sk-client-secret")
	if a.status != 200 || !strings.Contains(a.body, "good") || len(trap.Requests()) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, r := range u.Requests() {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "sk-client-secret") {
				t.Errorf("the client's credential travelled upstream in %s", name)
			}
		}
	}
}

func TestStrictParamsRefuse(t *testing.T) {
	f := families()[1]
	u := providertest.Serve(t, jsonScript(200, f.answer("a")))
	p := start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	a := p.chat(t, f.request(`,"seed":7`))
	if a.status != 200 || a.header.Get("X-Gateway-Ignored-Params") != "seed" {
		t.Errorf("%d %v", a.status, a.header)
	}
	a = p.chat(t, f.request(`,"seed":7`), "X-Gateway-Strict-Params", "true")
	if e := a.fault(t); a.status != 400 || e.Code != "unsupported_value" || *e.Param != "seed" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRetiredModelsSayTheirSuccessor(t *testing.T) {
	f := families()[0]
	gone := jsonScript(404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`)
	u := providertest.Serve(t, gone)
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	a := p.chat(t, f.request(""))
	if e := a.fault(t); a.status != 404 || e.Code != "provider_error" || !strings.Contains(e.Message, "gpt-6-sol") {
		t.Errorf("%d %s", a.status, a.body)
	}
	redirecting := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODEL_REDIRECT_RETIRED=true")
	u.Play(jsonScript(200, f.answer("a")))
	a = redirecting.chat(t, f.request(""))
	if a.status != 200 || a.header.Get("X-Gateway-Model-Redirected") != "gpt-6-sol" || !strings.Contains(string(u.Requests()[0].Body), `"model":"gpt-6-sol"`) {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestDiscoveredModelsBecomeCallable(t *testing.T) {
	f := families()[0]
	u := providertest.Serve(t, jsonScript(200, `{"object":"list","data":[{"id":"gpt-7-nova","created":9},{"id":"text-embedding-9"}]}`))
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODEL_DISCOVERY=true")
	until(t, "the model is listed", func() bool { return p.get(t, "/v1/models/gpt-7-nova").status == 200 })
	u.Play(jsonScript(200, f.answer("a")))
	if a := p.chat(t, `{"model":"gpt-7-nova",`+hi+`}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := p.get(t, "/v1/models/text-embedding-9"); a.status != 404 {
		t.Errorf("a model that does not chat is listed: %s", a.body)
	}
}

func TestSimulatorServesAllThreeAndSaysSo(t *testing.T) {
	p := start(t, "SIMULATOR=true")
	for _, f := range families() {
		a := p.chat(t, f.request(""))
		if a.status != 200 || !strings.Contains(a.body, `"system_fingerprint":"simulated"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		s := p.chat(t, f.request(streaming))
		if s.err != nil || strings.Count(s.body, `"system_fingerprint":"simulated"`) != strings.Count(s.body, "data: {") || !strings.HasSuffix(s.body, "[DONE]\n\n") {
			t.Errorf("%v %s", s.err, s.body)
		}
	}
	if a := p.get(t, "/health"); a.status != 200 || !strings.Contains(a.body, `"simulated":true`) {
		t.Errorf("%s", a.body)
	}
	if !strings.Contains(p.log.String(), "SIMULATOR=true") {
		t.Error("the log does not say so")
	}
}

func TestLiveStreamsFinishWhenTheGatewayStops(t *testing.T) {
	p := start(t, "SIMULATOR=true", "SHUTDOWN_GRACE_SECONDS=20")
	f := families()[0]
	body := strings.Replace(f.request(streaming), `"hi"`, quote(strings.Repeat("a long story ", 10)), 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 10)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop() }()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(rest), "[DONE]\n\n") {
		t.Errorf("%v %s", err, rest)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestWhatAnUpstreamGetsWrongDoesNotCutAStream(t *testing.T) {
	f := families()[0]
	odd := "data: {\"id\":\"x\",\"model\":\"m\",\"odd\":{\"a\":\"\xff\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"logprobs\":{\"content\":[{\"token\":\"\xff\"}]},\"finish_reason\":null}]}\n\n"
	u := providertest.Serve(t, events(providertest.Proper, f.start, odd, f.end))
	p := start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	s := p.chat(t, f.request(streaming))
	if s.err != nil || !strings.Contains(s.body, `"content":"b"`) || !strings.HasSuffix(s.body, "[DONE]\n\n") {
		t.Errorf("%v %s", s.err, s.body)
	}
}

func TestTheHeaderOfIgnoredNamesIsOneThatClientsCanRead(t *testing.T) {
	f := families()[1]
	u := providertest.Serve(t, jsonScript(200, f.answer("a")))
	p := start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	var members strings.Builder
	for i := range 5000 {
		members.WriteString(`,"ümlaut` + strconv.Itoa(i) + `":1`)
	}
	for _, headers := range [][]string{nil, {"X-Gateway-Strict-Params", "true"}} {
		a := p.chat(t, f.request(members.String()), headers...)
		named := a.header.Get("X-Gateway-Ignored-Params")
		if len(named) > 5000 || strings.ContainsFunc(named, func(r rune) bool { return r < ' ' || r > '~' }) || len(a.body) > 2000 {
			t.Errorf("%d: header of %d bytes, body of %d", a.status, len(named), len(a.body))
		}
	}
}

func TestHostileHistoriesCostNoMoreThanTheirSize(t *testing.T) {
	u := providertest.Serve(t)
	var settings []string
	for _, f := range families() {
		settings = append(settings, f.key+"_API_KEY=sk-x", f.key+"_BASE_URL="+u.URL)
	}
	p := start(t, settings...)
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
		turns.WriteString(`,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f` + n + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}`)
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
		for _, f := range families() {
			u.Play(jsonScript(200, f.answer("a")))
			began := time.Now()
			a := p.chat(t, `{"model":"`+f.model+`",`+rest+`}`)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s, %s: %d after %s", name, f.name, a.status, took)
			}
		}
	}
}
