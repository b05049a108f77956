package spelling

import (
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	const limit = 2
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "xbc", 1},
		{"abc", "ab", 1}, {"abcd", "badc", 2}, {"abc", "cba", 2}, {"abc", "abcdef", 3}, {"abc", "xyz", 3},
	} {
		if got := Distance(test.a, test.b, limit); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := Distance(test.b, test.a, limit); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

func TestNearestNamesComeFirst(t *testing.T) {
	known := []string{"gpt-5", "gpt-5-mini", "gpt-4o", "claude-haiku-4-5", "gemini-2.5-flash"}
	for name, want := range map[string][]string{
		"gpt-5o": {"gpt-4o", "gpt-5"}, "gemini-2.5-flsh": {"gemini-2.5-flash"}, "claude-hiaku-4.5": {"claude-haiku-4-5"}, "mistral": nil, "": nil,
	} {
		if got := Nearest(name, known, 2); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
