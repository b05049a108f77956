// Package carry lets what a provider wants back in the next turn travel inside
// a tool call's id. Clients that know only OpenAI's fields return ids
// faithfully and drop everything else, and a signature that is dropped makes
// the provider refuse the turn. Nothing is kept on the server, so that it works
// across restarts and replicas.
package carry

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
)

// mark stands between the provider's id and what is carried. Ids stay within
// [a-zA-Z0-9_-], which every provider accepts.
const mark = "__mgw1_"

// mostUnpacked bounds what an id of a client can make the gateway unpack.
const mostUnpacked = 1 << 20

// Pack returns id with details inside; id itself where there are none.
func Pack(id string, details []api.ReasoningDetail) string {
	if len(details) == 0 {
		return id
	}
	text, err := json.Marshal(details)
	if err != nil {
		return id
	}
	var packed bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		return id
	}
	return id + mark + base64.RawURLEncoding.EncodeToString(packed.Bytes())
}

// writers are kept: making one costs a hundred times more than using it.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	return w
}}

// Unpack parts an id into the provider's own and what it carries. An id that
// carries nothing, or nothing that can be read, is returned as it is.
func Unpack(id string) (string, []api.ReasoningDetail) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return id, nil
	}
	packed, err := base64.RawURLEncoding.DecodeString(id[at+len(mark):])
	if err != nil {
		return id, nil
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), mostUnpacked+1))
	if err != nil || len(text) > mostUnpacked {
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
