package app

import (
	"strings"
	"testing"
)

func TestIntroductionHasCommandsThatWork(t *testing.T) {
	t.Parallel()
	const url = "http://localhost:8080"
	for _, setup := range []string{"", "token"} {
		text := introduction(url, setup)
		for _, command := range []string{"\n  curl -s " + url + "/v1/chat/completions ", "\n  ANTHROPIC_BASE_URL=" + url + " ANTHROPIC_AUTH_TOKEN=any claude\n"} {
			if !strings.Contains(text, command) {
				t.Errorf("it does not contain %q: %s", command, text)
			}
		}
		if strings.Contains(text, "_http") || strings.Contains(text, "{url}") || strings.Contains(text, "{first}") {
			t.Errorf("a placeholder is replaced wrongly: %s", text)
		}
	}
}
