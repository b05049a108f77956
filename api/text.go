package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quoted is a client's text in quotes for a message, bounded and on one line.
func Quoted(s string) string {
	const longest = 100
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return "`" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '�'
		}
		return r
	}, s) + "`"
}

// Invisible says whether a character of a name would break a line or make the
// name look like another. Joiners may stay: Persian and emoji need them.
func Invisible(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != nonJoiner && r != joiner && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// Visible is a text with a question mark for each character of Invisible.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return '?'
		}
		return r
	}, text)
}

// CheckVisible refuses a name that is not valid UTF-8, which PostgreSQL does not store, or
// has a character of Invisible.
func CheckVisible(param, name string) error {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, Invisible) {
		return Invalid(CodeInvalidValue, param, "%s must be valid UTF-8 without control characters or other invisible characters", param)
	}
	return nil
}

// DomainNotAllowed is the message of CodeDomainNotAllowed.
const DomainNotAllowed = "e-mail addresses of this domain are not allowed: an operator can add the domain to ALLOWED_EMAIL_DOMAINS"
