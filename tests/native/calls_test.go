package native

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// The path of each candidate is its own: the same body is sent natively, then translated. Until the answer begins
// another one may answer, also where the upstream has said that it made a response.
func TestACallFailsOverToAnotherProviderBeforeItsAnswerBegins(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		f := gatewaytest.Providers()[:2] // OpenAI and Anthropic
		other, header, ends := f[0], "Anthropic-Beta", event("message_stop", "")
		const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
		scripts := []providertest.Script{
			gatewaytest.Events(providertest.Proper, "event: error\ndata: "+overloaded+"\n\n"), gatewaytest.JSON(529, overloaded),
		}
		if a.name == "responses" {
			other, header, ends = f[1], "Originator", "event: response.completed\n"
			failed := event("response.failed", `,"response":`+strings.Replace(response, `"status":"completed"`,
				`"status":"failed","error":{"code":"server_error","message":"broken"}`, 1))
			scripts = []providertest.Script{
				gatewaytest.Events(providertest.Proper, began(), failed),
				gatewaytest.JSON(503, `{"error":{"message":"Overloaded","type":"server_error"}}`),
			}
		}
		by := providertest.Serve(t)
		p, u := a.start(t, other.EnvPrefix+"_API_KEY=sk-b", other.EnvPrefix+"_BASE_URL="+by.URL, "FALLBACKS="+a.model+"="+other.Model)
		for _, script := range scripts {
			u.Play(script)
			by.Play(other.WholeAnswer(gatewaytest.Streaming, "fine"))
			got := post(t, p, a.path, a.body(`"stream":true,`), header, "b")
			if got.Status != 200 || !strings.Contains(got.Body, `"text":"fine"`) && !strings.Contains(got.Body, `"delta":"fine"`) ||
				!strings.Contains(got.Body, ends) || got.Header.Get("X-Gateway-Fallback") != other.Model {
				t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
			}
			sent := by.Requests()
			if len(sent) != 1 || sent[0].Header.Get(header) != "" || !strings.Contains(string(sent[0].Body), `"hi"`) {
				t.Errorf("%+v", sent)
			}
		}
	})
}

// Native calls are metered as translated ones are, those for a shorter conversation too.
func TestNativeCallsAreMetered(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		p, u := a.start(t)
		costly := strings.Replace(a.answer, `"input_tokens":3,"output_tokens":2`, `"input_tokens":30,"output_tokens":20`, 1)
		scripts := map[string]providertest.Script{
			a.path + a.body(""):               gatewaytest.JSON(200, costly),
			a.path + a.body(`"stream":true,`): gatewaytest.Events(providertest.Proper, a.stream),
		}
		if a.name == "responses" {
			scripts[a.path+"/compact"+a.body("")] = gatewaytest.JSON(200, `{"id":"`+responseID+`","object":"response.compaction",`+
				`"created_at":1780000000,"output":[{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAA"}],"usage":`+responseUsage+`}`)
		}
		for request, script := range scripts {
			u.Play(script)
			path, body, _ := strings.Cut(request, "{")
			got := post(t, p, path, "{"+body)
			if sent := u.Requests(); got.Status != 200 || a.asSent(t, got.Body) != string(script.Pieces[0]) || sent[len(sent)-1].Path != path {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
		gatewaytest.Until(t, "all calls are in the log", func() bool {
			return strings.Count(p.Log.String(), `"input_tokens":30,"output_tokens":20`) == len(scripts)
		})
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
