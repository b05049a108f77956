package api

import (
	"strings"
	"unicode"
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
