package dialects

import (
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// begins, ends and fails are parts of the events of a stream that begins, is whole, or has failed.
func (d dialect) begins() string {
	return map[string]string{"messages": `"type":"message_start"`, "responses": `"type":"response.created"`}[d.name]
}

func (d dialect) ends() string {
	return map[string]string{"messages": "event: message_stop\n", "responses": "event: response.completed\n"}[d.name]
}

func (d dialect) fails() []string {
	return map[string][]string{
		"messages":  {"event: error\ndata: " + `{"type":"error","error":{"type":"api_error","message":`},
		"responses": {"event: error\ndata: " + `{"type":"error",`, "event: response.failed\n", `"error":{"code":"server_error"`},
	}[d.name]
}

// A stream that breaks off never ends cleanly: neither its events nor the connection say that it is whole.
func TestAStreamThatBreaksOffEndsWithAnError(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		p, u := gatewaytest.StartAll(t)
		p.Client = gatewaytest.ParallelClient(t) // what a native stream is like is not the gateway's to judge
		for _, f := range gatewaytest.Providers() {
			start, said := f.Start, f.Text("a")
			if f.Name == "openai" && d.native == "openai" {
				own := gatewaytest.ResponsesDialect()
				start, said = own.Start(nil), own.Text("a", nil)
			}
			for _, end := range []providertest.End{providertest.Proper, providertest.Reset} {
				u[f.Name].Play(gatewaytest.Events(end, start, said, said[:40]))
				a := p.Call(t, "POST", d.path, d.body(f.Model, gatewaytest.Streaming))
				if a.Status != 200 || a.Err == nil || !strings.Contains(a.Body, d.begins()) || strings.Contains(a.Body, d.ends()) ||
					f.Name == d.native && !strings.HasPrefix(a.Body, start+said+"event: error\n") {
					t.Errorf("%s: %d %v %s", f.Name, a.Status, a.Err, a.Body)
				}
				last := a.Body[strings.Index(a.Body+"event: error", "event: error"):]
				for _, part := range d.fails() {
					if !strings.Contains(last, part) || !strings.HasSuffix(last, "\n\n") {
						t.Errorf("%s: %s is not in %q", f.Name, part, last)
					}
				}
			}
		}
	})
}

// An upstream has accepted the call and is silent: the client is told that the answer has
// begun, and nothing else can answer any more. A native stream begins with its own events.
func TestAStreamThatIsLongInComingIsOpened(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		slow := gatewaytest.NewFuncUpstream(t)
		p, u := gatewaytest.StartAll(t, "STREAM_KEEPALIVE_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2", "GROQ_API_KEY=k",
			"GROQ_BASE_URL="+slow.URL, "FALLBACKS="+flash+"="+haiku+";"+haiku+"="+flash+";gpt-4="+flash)
		f := gatewaytest.Providers()
		slow.Handle(gatewaytest.WriteSlowly("text/event-stream", 1300*time.Millisecond, f[0].Start+f[0].Text("late")+f[0].End))
		for name := range u {
			u[name].Play(gatewaytest.Events(providertest.Hold, "")) // a header only
		}
		own, other := f[0], f[1]
		if d.native == other.Name {
			own, other = other, own
		}
		for _, tt := range []struct {
			model, provider, fallback string
			answered                  bool
		}{
			{"groq/gpt-4o", "groq", "", true}, {flash, "gemini", "", false}, {other.Model, other.Name, "", false},
			{own.Model, "gemini", flash, false},
		} {
			t.Run(tt.model, func(t *testing.T) {
				t.Parallel()
				a := p.Call(t, "POST", d.path, d.body(tt.model, gatewaytest.Streaming))
				first, rest, _ := strings.Cut(a.Body, "\n\n")
				if !strings.Contains(first, d.begins()) || strings.Contains(rest, d.begins()) || !strings.Contains(first, `"model":"`) {
					t.Errorf("%s", a.Body)
				}
				if whole := strings.Contains(a.Body, d.ends()); whole != tt.answered || whole != (a.Err == nil) {
					t.Errorf("%v %s", a.Err, a.Body)
				}
				if !tt.answered && !strings.Contains(rest, "event: error\n") {
					t.Errorf("%s", a.Body)
				}
				if h := a.Header; a.Status != 200 || h.Get("X-Gateway-Provider") != tt.provider || h.Get("X-Gateway-Fallback") != tt.fallback {
					t.Errorf("%d %v", a.Status, h)
				}
			})
		}
	})
}
