package messages

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestSilentStreamsGetAPing(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t, "STREAM_KEEPALIVE_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=2")
	f := gatewaytest.Providers()
	for i, upstream := range []*providertest.Upstream{u["openai"], u["anthropic"]} {
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
