package operations

import (
	"strings"
	"syscall"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestProbesAndScrapesAreLoggedAtDebugLevelOnly(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "LOG_LEVEL=info", "SIMULATOR=true")
	for _, path := range []string{"/livez", "/readyz", "/health", "/metrics"} {
		p.Get(t, path)
	}
	p.Call(t, "GET", "/v1/models", "", "X-Request-Id", "after-the-probes")
	accessLine(t, p, "after-the-probes")
	for _, l := range accessLines(t, p) {
		if l["route"] != "/v1/models" {
			t.Errorf("%v", l)
		}
	}
}

func TestInterruptEndsWithStoppedAndSuccess(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Launch(t, nil, "SIMULATOR=true", "LOG_LEVEL=info")
	p.Signal(t, syscall.SIGINT)
	if code := p.Wait(t); code != 0 {
		t.Errorf("it exits with %d", code)
	}
	lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"msg":"stopped"`) {
		t.Errorf("the last line is %s", last)
	}
}
