package streams

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// unescaped writes the characters that encoding/json escapes: events of OpenAI
// are forwarded with the escapes of the upstream.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">")

func TestAnswersAndStreamsOfEveryProvider(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.JSON(200, f.Answer("Hello <é>")))
		a := p.Chat(t, f.Request(""))
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
		if err := json.Unmarshal([]byte(a.Body), &whole); err != nil || a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if whole.Object != "chat.completion" || whole.Choices[0].Message.Content != "Hello <é>" ||
			whole.Choices[0].FinishReason != "stop" ||
			whole.Usage.Total != 7 {
			t.Errorf("%s", a.Body)
		}
		if a.Header.Get("X-Gateway-Provider") != f.Name || a.Header.Get("Openai-Processing-Ms") == "" {
			t.Errorf("%v", a.Header)
		}
		u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text("Hello "), f.Text("<é>"), f.End))
		for _, usage := range []bool{false, true} {
			members := gatewaytest.Streaming
			if usage {
				members += `,"stream_options":{"include_usage":true}`
			}
			s := p.Chat(t, f.Request(members))
			if s.Err != nil || !strings.HasSuffix(s.Body, "data: [DONE]\n\n") || !strings.Contains(unescaped.Replace(s.Body), `"content":"<é>"`) ||
				!strings.Contains(s.Body, `"finish_reason":"stop"`) {
				t.Errorf("%v %s", s.Err, s.Body)
			}
			if strings.Contains(s.Body, `"total_tokens":7`) != usage || strings.Contains(s.Body, `"usage":null`) != usage {
				t.Errorf("usage %v: %s", usage, s.Body)
			}
			if s.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || s.Header.Get("Cache-Control") != "no-cache" ||
				s.Header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%v", s.Header)
			}
		}
	})
}

func TestInterruptedStreamNeverLooksComplete(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for name, script := range map[string]providertest.Script{
			"truncated": gatewaytest.Events(providertest.Proper, f.Start, f.Text("par")),
			"reset":     gatewaytest.Events(providertest.Reset, f.Start, f.Text("par")),
			"error":     gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), f.ErrorEvent),
			"error, then goes on as if nothing had been": gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), f.ErrorEvent, f.Text("no"), f.End),
			"nonsense": gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), "data: {\"type\":\n\n", f.End),
		} {
			u.Play(script)
			s := p.Chat(t, f.Request(gatewaytest.Streaming))
			if s.Status != 200 || s.Err == nil {
				t.Errorf("%s: status %d, and the body came to a proper end", name, s.Status)
			}
			if !strings.Contains(s.Body, `"content":"par"`) || strings.Contains(s.Body, "[DONE]") ||
				strings.Contains(s.Body, `"finish_reason":"`) ||
				!strings.Contains(s.Body, `data: {"error":{"type":"api_error"`) {
				t.Errorf("%s: %s", name, s.Body)
			}
		}
	})
}

func TestErrorBeforeTheFirstEventKeepsItsStatus(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for name, script := range map[string]providertest.Script{
			"error event":  gatewaytest.Events(providertest.Proper, f.ErrorEvent),
			"nothing":      gatewaytest.Events(providertest.Proper),
			"reset":        gatewaytest.Events(providertest.Reset),
			"HTML":         {Header: http.Header{"Content-Type": {"text/html"}}, Pieces: [][]byte{[]byte("<html>Bad Gateway</html>")}},
			"status 500":   gatewaytest.JSON(500, `{}`),
			"a redirect":   {Status: 307, Header: http.Header{"Location": {"http://169.254.169.254/latest"}}},
			"status 401":   gatewaytest.JSON(401, `{"error":{"message":"bad key sk-canary-`+f.Name+`"}}`),
			"empty object": gatewaytest.JSON(200, `{}`),
		} {
			for _, members := range []string{"", gatewaytest.Streaming} {
				u.Play(script)
				a := p.Chat(t, f.Request(members))
				e := a.APIError(t)
				if a.Status != 502 || e.Type != "api_error" || e.Code != "provider_error" || e.Provider != f.Name ||
					strings.Contains(a.Body, "canary") {
					t.Errorf("%s%s: %d %s", name, members, a.Status, a.Body)
				}
				u.Play(gatewaytest.JSON(200, f.Answer("fine"))) // so that the circuit stays closed
				if a := p.Chat(t, f.Request("")); a.Status != 200 {
					t.Errorf("a good answer after %s%s: %d %s", name, members, a.Status, a.Body)
				}
			}
		}
	}, "LOG_LEVEL=info", "MAX_RETRIES=1")
}

func TestSilentStreamsAreKeptAliveWithComments(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL, "STREAM_KEEPALIVE_SECONDS=1",
		"STREAM_IDLE_TIMEOUT_SECONDS=3")
	u.Play(gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")))
	s := p.Chat(t, f.Request(gatewaytest.Streaming))
	if !strings.Contains(s.Body, "\n\n: ping\n\n") || !strings.Contains(s.Body, `"code":"provider_error"`) ||
		strings.Contains(s.Body, "[DONE]") ||
		s.Err == nil {
		t.Errorf("%v %s", s.Err, s.Body)
	}
}

func TestLiveStreamsFinishDuringShutdown(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "SHUTDOWN_GRACE_SECONDS=20")
	body := strings.Replace(gatewaytest.HelloRequest, `"hi"}]`, gatewaytest.Quote(strings.Repeat("a long story ", 10))+"}]"+gatewaytest.Streaming, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 10)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop() }()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(rest), "[DONE]\n\n") {
		t.Errorf("%v %s", err, rest)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestInvalidUTF8FromAnUpstreamDoesNotCutAStream(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	odd := "data: {\"id\":\"x\",\"model\":\"m\",\"odd\":{\"a\":\"\xff\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"logprobs\":{\"content\":[{\"token\":\"\xff\"}]},\"finish_reason\":null}]}\n\n"
	u := providertest.Serve(t, gatewaytest.Events(providertest.Proper, f.Start, odd, f.End))
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	s := p.Chat(t, f.Request(gatewaytest.Streaming))
	if s.Err != nil || !strings.Contains(s.Body, `"content":"b"`) || !strings.HasSuffix(s.Body, "[DONE]\n\n") {
		t.Errorf("%v %s", s.Err, s.Body)
	}
}
