package providers

import (
	"regexp"
	"strings"
	"unicode"
)

// longestMessage is the most of an upstream's message that is passed on, in
// bytes.
const longestMessage = 300

var (
	// Web addresses and bare host names of the providers or their insides.
	address = regexp.MustCompile(
		`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|internal|local|cluster|svc)\b(?:[:/][^\s"'<>)\]]*)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`,
	)
	// Keys of the providers, whole or masked with asterisks, and anything that
	// follows a word such as "key".
	key = regexp.MustCompile(
		`(?i)\b(?:sk|pk|rk|xai|gsk|mgw)[-_][\w*.-]{3,}|\bAIza[\w*-]{6,}|\bya29\.[\w.-]+|\bBearer\s+\S+|\beyJ[\w.-]{10,}|(api[ _-]?key(?: provided)?\s*[:=]\s*)\S+`,
	)
	// Names of accounts.
	account = regexp.MustCompile(`\b(?:org|proj|acct|wrkspc)[-_][A-Za-z0-9_-]{3,}|\bprojects?/[\w-]+|\bproject[_ ]number:\s*\d+`)
)

// clean removes from an upstream's message what clients must not see:
// addresses, keys and accounts. The result is one line of at most 300 bytes.
func clean(message string) string {
	const most = 8 << 10 // more is never shown, and need not be searched
	if len(message) > most {
		message = message[:most]
	}
	message = strings.ToValidUTF8(message, "")
	message = key.ReplaceAllString(message, "$1[redacted]")
	message = address.ReplaceAllString(message, "[address]")
	message = account.ReplaceAllString(message, "[account]")
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(message) <= longestMessage {
		return message
	}
	return strings.ToValidUTF8(message[:longestMessage-len("…")], "") + "…"
}
