// Package carry lets what a provider wants back in the next turn travel inside
// a tool call's id. Clients that know only OpenAI's fields return ids
// faithfully and drop everything else, and a signature that is dropped makes
// the provider refuse the turn. Nothing is kept on the server, so that it works
// across restarts and replicas.
package carry

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
)

// mark stands between the provider's id and what is carried. Ids stay within
// [a-zA-Z0-9_-], which every provider accepts. What is carried is not
// compressed: signatures do not shrink, and a client's id must not make the
// gateway unpack more than it was sent.
const mark = "__mgw1_"

// Pack returns id with details inside; id itself where there are none.
func Pack(id string, details []api.ReasoningDetail) string {
	if len(details) == 0 {
		return id
	}
	text, err := json.Marshal(details)
	if err != nil {
		return id
	}
	return id + mark + base64.RawURLEncoding.EncodeToString(text)
}

// Unpack parts an id into the provider's own and what it carries. An id that
// carries nothing, or nothing that can be read, is returned as it is.
func Unpack(id string) (string, []api.ReasoningDetail) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return id, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(id[at+len(mark):])
	if err != nil {
		return id, nil
	}
	var details []api.ReasoningDetail
	if err := json.Unmarshal(text, &details); err != nil {
		return id, nil
	}
	return id[:at], details
}

// Marked says whether a text may hold an id that carries something.
func Marked(text []byte) bool { return bytes.Contains(text, []byte(mark)) }
