package operations

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestOpenModeWithProviderKeysIsWarnedOf(t *testing.T) {
	t.Parallel()
	key := "OPENAI_API_KEY=sk-canary-open-mode"
	for name, tt := range map[string]struct {
		settings []string
		warned   bool
	}{
		"all interfaces":   {[]string{"HOST=", key}, true},
		"every IPv4":       {[]string{"HOST=0.0.0.0", key}, true},
		"this machine":     {[]string{key}, false},
		"a credential":     {[]string{"HOST=", key, "REQUIRE_AUTH=true", gatewaytest.JWTSecret}, false},
		"the simulator":    {[]string{"HOST=", key, "SIMULATOR=true"}, false},
		"no provider keys": {[]string{"HOST="}, false},
	} {
		p := gatewaytest.Start(t, tt.settings...)
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		warnings := 0
		for line := range strings.Lines(p.Log.String()) {
			if !strings.Contains(line, "open to the network") {
				continue
			}
			warnings++
			for _, part := range []string{`"WARN"`, "provider keys", "/metrics", "REQUIRE_AUTH=true", "HOST=127.0.0.1"} {
				if !strings.Contains(line, part) {
					t.Errorf("%s: %q is not in %s", name, part, line)
				}
			}
		}
		if warnings > 1 || tt.warned != (warnings == 1) {
			t.Errorf("%s: %d warnings\n%s", name, warnings, p.Log)
		}
	}
}
