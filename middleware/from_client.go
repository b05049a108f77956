package middleware

import (
	"regexp"
	"strings"

	"modelgateway/api"
)

// credentialForm is the form of keys and tokens: clients put them into paths and
// into the names of models by mistake. Keys of LiteLLM have any characters after sk-.
var credentialForm = regexp.MustCompile(`(mgw_|AIza|eyJ)[A-Za-z0-9_.%-]{8,}|sk-[^\s"'\x60/]{8,}|[A-Za-z0-9]{32,}`)

// FromClient is a text of a client as the log and messages may have it: shortened, and without
// what looks like a credential or would break a line.
func FromClient(text string) string {
	const most = 300
	text = credentialForm.ReplaceAllString(text, "[redacted]")
	if len(text) > most {
		text = text[:most] + "…"
	}
	return api.Visible(strings.ToValidUTF8(text, "?"))
}
