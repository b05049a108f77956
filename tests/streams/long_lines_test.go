package streams

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// Images arrive as lines of up to 16 MiB.
func TestLineOf16MiBPassesAndALongerOneIsAnError(t *testing.T) {
	t.Parallel()
	const bound = 16 << 20
	long := strings.Repeat("x", bound+64<<10)
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		p.Client = http.DefaultClient // validating so much takes long
		frame := 0
		for line := range strings.Lines(f.Text("")) {
			if strings.HasPrefix(line, "data:") {
				frame = len(strings.TrimRight(line, "\r\n"))
			}
		}
		longest := bound - frame
		u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text(long[:longest]), f.Text("after"), f.End))
		s := p.Chat(t, f.Request(gatewaytest.Streaming))
		if s.Err != nil || strings.Count(s.Body, "x") < longest || !strings.Contains(s.Body, `"content":"after"`) ||
			!strings.HasSuffix(s.Body, "[DONE]\n\n") {
			t.Errorf("the longest line: %v, %d bytes came", s.Err, len(s.Body))
		}
		u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text("before"), f.Text(long), f.Text("after"), f.End))
		s = p.Chat(t, f.Request(gatewaytest.Streaming))
		if s.Err == nil || !strings.Contains(s.Body, `"content":"before"`) || !strings.Contains(s.Body, `"code":"provider_error"`) ||
			strings.Contains(s.Body, "after") ||
			strings.Contains(s.Body, "[DONE]") {
			t.Errorf("a longer one: %v, %.500s", s.Err, s.Body)
		}
	})
}

func TestLongLinesPass(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
			u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text(long[:size]), f.End))
			s := p.Chat(t, f.Request(gatewaytest.Streaming))
			if s.Err != nil || strings.Count(s.Body, "x") < size || !strings.HasSuffix(s.Body, "[DONE]\n\n") {
				t.Errorf("%d bytes: %v, %d bytes came", size, s.Err, len(s.Body))
			}
		}
		u.Play(gatewaytest.Events(providertest.Proper, f.Start, "data: "+strings.Repeat("x", 17<<20), f.End))
		// It is an error status if nothing was forwarded before, else a broken stream.
		s := p.Chat(t, f.Request(gatewaytest.Streaming))
		if s.Err == nil && s.Status != 502 || strings.Contains(s.Body, "[DONE]") || !strings.Contains(s.Body, "provider_error") {
			t.Errorf("a line without an end: %v, %.300s", s.Err, s.Body)
		}
	})
}
