package native

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// The path of each candidate is its own: the same body is sent natively, then translated.
func TestACallFailsOverToAnotherProviderBeforeItsFirstByte(t *testing.T) {
	t.Parallel()
	other := providertest.Serve(t)
	p, u := gateway(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+other.URL, "FALLBACKS="+model+"=gpt-4o")
	chunk := func(delta, finish string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4o","choices":[{"index":0,"delta":` + delta +
			`,"finish_reason":` + finish + "}]}\n\n"
	}
	const usage = `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4o","choices":[],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}` + "\n\n"
	const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for _, script := range []providertest.Script{
		gatewaytest.Events(providertest.Proper, "event: error\ndata: "+overloaded+"\n\n"), gatewaytest.JSON(529, overloaded),
	} {
		u.Play(script)
		other.Play(gatewaytest.Events(providertest.Proper, chunk(`{"role":"assistant","content":"fine"}`, "null"), chunk(`{}`, `"stop"`), usage,
			"data: [DONE]\n\n"))
		got := post(t, p, "/v1/messages", `{"model":"`+model+`","stream":true,`+hi+`}`, "Anthropic-Beta", "b")
		if got.Status != 200 || !strings.Contains(got.Body, `"text":"fine"`) || !strings.HasSuffix(got.Body, event("message_stop", "")) ||
			got.Header.Get("X-Gateway-Fallback") != "gpt-4o" {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
		sent := other.Requests()
		if len(sent) != 1 || sent[0].Header.Get("Anthropic-Beta") != "" || !strings.Contains(string(sent[0].Body), `"hi"`) {
			t.Errorf("%+v", sent)
		}
	}
}

// Case 31.
func TestAConversationStaysWithOneKey(t *testing.T) {
	t.Parallel()
	p, u := gateway(t, "ANTHROPIC_API_KEY=sk-ant-a,sk-ant-b,sk-ant-c")
	u.Play(gatewaytest.JSON(200, answer))
	body := func(user string) string {
		return `{"model":"` + model + `","metadata":{"user_id":"` + user + `"},` + hi + `}`
	}
	keys := func(body string, headers ...string) []string {
		before := len(u.Requests())
		for range 6 {
			if got := post(t, p, "/v1/messages", body, headers...); got.Status != 200 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
		var all []string
		for _, r := range u.Requests()[before:] {
			all = append(all, r.Header.Get("X-Api-Key"))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	used := map[string]bool{}
	for _, session := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"} {
		got := keys(body("u"), "X-Claude-Code-Session-Id", session)
		if len(got) != 1 {
			t.Errorf("session %s used %v", session, got)
		}
		used[got[0]] = true
		if again := keys(body(session)); len(again) != 1 || again[0] != got[0] {
			t.Errorf("named by the user, %s used %v", session, again)
		}
	}
	if len(used) < 2 {
		t.Errorf("all conversations use %v", used)
	}
	if got := keys(`{"model":"` + model + `",` + hi + `}`); len(got) != 3 {
		t.Errorf("without a conversation %v were used", got)
	}
}

// Native calls are metered as translated ones are.
func TestNativeCallsAreMetered(t *testing.T) {
	t.Parallel()
	p, u := gateway(t)
	stream := started(`{"input_tokens":30,"output_tokens":1}`) + ended()
	whole := strings.Replace(answer, `"input_tokens":3,"output_tokens":2`, `"input_tokens":30,"output_tokens":20`, 1)
	for members, script := range map[string]providertest.Script{
		"":               gatewaytest.JSON(200, whole),
		`"stream":true,`: gatewaytest.Events(providertest.Proper, stream),
	} {
		u.Play(script)
		got := post(t, p, "/v1/messages", `{"model":"`+model+`",`+members+hi+`}`)
		if got.Status != 200 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	gatewaytest.Until(t, "both calls are in the log", func() bool {
		log := p.Log.String()
		return strings.Count(log, `"input_tokens":30,"output_tokens":20`) == 2
	})
}

// What a paid call costs is known as for the other dialects: of a model that thinks the rest
// is read for its usage, of another one the texts are counted.
func TestAClientThatLeavesPaysForItsNativeStream(t *testing.T) {
	t.Parallel()
	u := gatewaytest.NewFuncUpstream(t)
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-ant-a", "ANTHROPIC_BASE_URL="+u.URL, "MAX_RETRIES=0", "MAX_BUDGET_USD=100")
	for members, c := range map[string]struct {
		rest   time.Duration // after the client has left, the provider waits so long before it ends its answer
		logged string
	}{
		`"thinking":{"type":"enabled","budget_tokens":1024},`: {500 * time.Millisecond, `"input_tokens":30,"output_tokens":20`},
		``: {time.Minute, `"estimated":true`},
	} {
		start := started(`{"input_tokens":30,"output_tokens":1}`) + said("some words")
		left := make(chan struct{})
		u.Handle(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, start)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-left:
			case <-r.Context().Done():
				return
			}
			select {
			case <-time.After(c.rest):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, ended())
		})
		leave(t, p, `{"model":"`+model+`","stream":true,`+members+strings.Replace(hi, "99", "2000", 1)+`}`, len(start))
		close(left)
		gatewaytest.Until(t, "the call is in the log with "+c.logged, func() bool {
			for line := range strings.Lines(p.Log.String()) {
				if strings.Contains(line, `"outcome":"client_gone"`) && strings.Contains(line, c.logged) &&
					strings.Contains(line, `"input_tokens":30`) {
					return true
				}
			}
			return false
		})
	}
}

// leave reads the first bytes of a stream and closes the connection.
func leave(t *testing.T, p *gatewaytest.Program, body string, size int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := new(http.Transport).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadFull(resp.Body, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
}

func TestNativeAnswersAreHedged(t *testing.T) {
	t.Parallel()
	p, u := gateway(t, "HEDGE_AFTER_MS=20", "ANTHROPIC_API_KEY=sk-ant-a,sk-ant-b")
	u.Play(providertest.Script{End: providertest.Hold}, gatewaytest.JSON(200, answer))
	got := post(t, p, "/v1/messages", `{"model":"`+model+`",`+hi+`}`)
	sent := u.Requests()
	if got.Status != 200 || got.Body != answer || len(sent) != 2 || string(sent[0].Body) != string(sent[1].Body) ||
		sent[0].Header.Get("X-Api-Key") == sent[1].Header.Get("X-Api-Key") {
		t.Errorf("%d %s after %d calls", got.Status, got.Body, len(sent))
	}
}
