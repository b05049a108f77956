package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a text that does not print itself: not with any verb of fmt, not
// in JSON, not in slog. Only Reveal gives it away. The zero value is unset and
// prints as nothing.
//
// Two Secrets are not comparable with ==; compare what they reveal.
type Secret struct {
	_ [0]func() // == would compare addresses

	// A pointer, because fmt prints unexported fields without asking their
	// methods: of a pointer inside a struct it prints no more than the address.
	text *string
}

// NewSecret wraps a text. Of an empty one it makes the unset Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal is the text itself, for the one place that sends or checks it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// String says only whether there is a secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format does for every verb and flag what String does.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText does what String does for JSON, YAML and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue does what String does for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
