package providers

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// longestMessage is the most of an upstream's message that is passed on, in
// bytes.
const longestMessage = 300

// pattern compiles a pattern, at its first use: most of the memory of these is needed by
// processes only whose providers send errors.
func pattern(text string) func() *regexp.Regexp {
	return func() *regexp.Regexp { return regexp.MustCompile(text) }
}

var (
	// Web addresses and bare host names of the providers or their insides.
	address = sync.OnceValue(pattern(
		`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|internal|local|cluster|svc)\b(?:[:/][^\s"'<>)\]]*)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`,
	))
	// Keys of the providers, whole or masked with asterisks, and anything that
	// follows a word such as "key".
	key = sync.OnceValue(pattern(
		`(?i)\b(?:sk|pk|rk|xai|gsk|mgw)[-_][\w*.-]{3,}|\bAIza[\w*-]{6,}|\bya29\.[\w.-]+|\bBearer\s+\S+|\beyJ[\w.-]{10,}|(api[ _-]?key(?: provided)?\s*[:=]\s*)\S+`,
	))
	// Names of accounts.
	account = sync.OnceValue(pattern(`\b(?:org|proj|acct|wrkspc)[-_][A-Za-z0-9_-]{3,}|\bprojects?/[\w-]+|\bproject[_ ]number:\s*\d+`))
)

// organization is the id of the account in messages of Anthropic's.
var organization = sync.OnceValue(pattern(`(?i)(\borgani[sz]ation\b[^0-9a-z]{0,4}(?:id[^0-9a-z]{1,3})?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`))

// Redact removes keys and the names of accounts from an upstream's message that is passed on
// in the upstream's words. Addresses stay, which are those of the upstream's documents.
func Redact(message string) string {
	message = key().ReplaceAllString(message, "$1[redacted]")
	message = organization().ReplaceAllString(message, "$1[account]")
	return account().ReplaceAllString(message, "[account]")
}

// clean removes from an upstream's message what clients must not see:
// addresses, keys and accounts. The result is one line of at most 300 bytes.
func clean(message string) string {
	const most = 8 << 10 // more is never shown, and need not be searched
	if len(message) > most {
		message = message[:most]
	}
	message = strings.ToValidUTF8(message, "")
	message = key().ReplaceAllString(message, "$1[redacted]")
	message = address().ReplaceAllString(message, "[address]") // whole, with the accounts in it
	message = organization().ReplaceAllString(message, "$1[account]")
	message = account().ReplaceAllString(message, "[account]")
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(message) <= longestMessage {
		return message
	}
	return strings.ToValidUTF8(message[:longestMessage-len("…")], "") + "…"
}
