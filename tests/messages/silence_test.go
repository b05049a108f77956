package messages

import (
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestSilentStreamsGetAPing(t *testing.T) {
	t.Parallel()
	p, u := start(t, "STREAM_KEEPALIVE_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2")
	f := gatewaytest.Providers()
	for i, upstream := range []*providertest.Upstream{u.openai, u.anthropic} {
		upstream.Play(gatewaytest.Events(providertest.Hold, f[i].Start, f[i].Text("a")))
		t.Run(f[i].Name, func(t *testing.T) {
			t.Parallel()
			a := p.Call(t, "POST", path, body(f[i].Model, gatewaytest.Streaming))
			_, after, _ := strings.Cut(a.Body, `"text_delta"`)
			if !strings.Contains(after, "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n") || !strings.Contains(after, "event: error\n") || a.Err == nil {
				t.Errorf("%v %s", a.Err, a.Body)
			}
		})
	}
}

// An upstream has accepted the call and is silent: the client is told that the answer has
// begun, and nothing else can answer any more. Anthropic's own stream begins with its own
// events.
func TestAStreamThatIsLongInComingIsOpened(t *testing.T) {
	t.Parallel()
	slow := gatewaytest.NewFuncUpstream(t)
	p, u := start(t, "STREAM_KEEPALIVE_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2", "OPENAI_BASE_URL="+slow.URL,
		"FALLBACKS=gpt-4="+haiku+";gemini-2.5-flash=gpt-4;"+haiku+"=gemini-2.5-flash")
	f := gatewaytest.Providers()
	silent := gatewaytest.Events(providertest.Hold, "") // a header only
	whole := f[0].Start + f[0].Text("late") + f[0].End
	slow.Handle(gatewaytest.WriteSlowly("text/event-stream", 1300*time.Millisecond, whole))
	u.gemini.Play(silent)
	u.anthropic.Play(silent)
	for _, tt := range []struct {
		model, provider, fallback string
		answered                  bool
	}{
		{"gpt-4", "openai", "", true},
		{"gemini-2.5-flash", "gemini", "", false},
		{haiku, "gemini", "gemini-2.5-flash", false},
	} {
		t.Run(tt.model, func(t *testing.T) {
			t.Parallel()
			a := p.Call(t, "POST", path, body(tt.model, gatewaytest.Streaming))
			first, rest, _ := strings.Cut(a.Body, "\n\n")
			if !strings.Contains(first, `"type":"message_start"`) || strings.Contains(rest, "message_start") || !strings.Contains(first, `"model":"`) {
				t.Errorf("%s", a.Body)
			}
			if whole := strings.HasSuffix(a.Body, `{"type":"message_stop"}`+"\n\n"); whole != tt.answered || whole != (a.Err == nil) {
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
}
