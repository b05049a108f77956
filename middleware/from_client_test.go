package middleware

import (
	"strings"
	"testing"
)

func TestTextsOfClientsAreLoggedShortAndWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"/v1/v1/chat/completions":                             "/v1/v1/chat/completions",
		"claude-haiku-4-5-20251001":                           "claude-haiku-4-5-20251001",
		"gemini-2.5-flash-lite-preview-09-2025":               "gemini-2.5-flash-lite-preview-09-2025",
		"/v1/sk-proj-abc_123-xyz789/models":                   "/v1/[redacted]/models",
		"/v1/models/sk-a!b$c&d=e(f)~/x":                       "/v1/models/[redacted]/x",
		"the model `sk-a$b!c+d=e#1` does not exist":           "the model `[redacted]` does not exist",
		"/x/mgw_0123456789abcdef":                             "/x/[redacted]",
		"the model `eyJhbGciOi.eyJzdWIi.c2ln` does not exist": "the model `[redacted]` does not exist",
		strings.Repeat("4f", 20):                              "[redacted]",
		"a\xffb":                                              "a?b",
		"a\r\nb\u202e\x1b[31m":                                "a??b??[31m",
		strings.Repeat("ab/", 200):                            strings.Repeat("ab/", 100) + "…",
	} {
		if got := FromClient(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
