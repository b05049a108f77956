package upstreams

import (
	"strconv"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

func TestUnansweredCallIsATimeout(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		u.Play(gatewaytest.Events(providertest.Hold))
		for _, members := range []string{"", gatewaytest.Streaming} {
			a := p.Chat(t, f.Request(members))
			if a.Status != 504 || a.APIError(t).Code != "provider_error" || a.Header.Get("X-Should-Retry") != "true" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	}, "UPSTREAM_TIMEOUT_SECONDS=1")
}

func TestRetryAfterOfAnUpstreamIsPassedOn(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL)
	for wait, retry := range map[int]bool{7: true, 3600: false} {
		script := gatewaytest.JSON(429, `{"error":{"message":"slow down","type":"requests"}}`)
		script.Header.Set("Retry-After", strconv.Itoa(wait))
		u.Play(script)
		a := p.Chat(t, f.Request(""))
		if a.Status != 429 || a.Header.Get("Retry-After") != strconv.Itoa(wait) ||
			a.Header.Get("X-Should-Retry") != strconv.FormatBool(retry) {
			t.Errorf("%d %v", a.Status, a.Header)
		}
	}
}
