package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a text that is never printed: not with any verb of fmt, not in JSON,
// not in slog. Only Reveal returns it. The zero value is unset and prints as an
// empty text.
//
// Secrets cannot be compared with ==; compare the results of Reveal.
type Secret struct {
	_ [0]func() // makes == an error: it would compare addresses

	// A pointer, because fmt prints unexported fields without calling their
	// methods: of a pointer inside a struct it prints only the address.
	text *string
}

// NewSecret wraps a text. An empty text gives the unset Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text itself, for the code that sends or checks it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is unset.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns "[redacted]", or "" when the secret is unset.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format writes the result of String for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the result of String for JSON, YAML and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the result of String for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
