// Package messages is the dialect of Anthropic's Messages API: requests, answers, streams
// and errors, and what of a request travels unchanged to a provider that speaks it.
package messages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/llm"
)

// Dialect is the Messages API as one of the dialects.
func Dialect() *api.Dialect {
	return &api.Dialect{
		Decode:       api.Decoder(Decode, forwards),
		DecodeCount:  api.Decoder(DecodeCount, forwards),
		AppendAnswer: appendAnswer,
		AppendCount:  appendCount,
		NewWriter:    newWriter,
		OpensEarly:   true,
		AppendError:  appendError,
		ErrorStatus:  errorStatus,
		SetHeaders:   setHeaders,
		SetLimit:     setLimit,
	}
}

// Names of headers are in their canonical form.
const (
	versionHeader   = "Anthropic-Version"
	betaHeader      = "Anthropic-Beta"
	sessionHeader   = "X-Claude-Code-Session-Id"
	affinityHeader  = "X-Session-Affinity" // opencode's
	requestIDHeader = "Request-Id"
)

// forwards returns the version and the betas that the client asks for, all of them: a beta
// that is left out while its member stays is refused by Anthropic. Headers that choose
// whose account pays never travel.
func forwards(h http.Header, query url.Values) (beside llm.Beside, session string) {
	if version := h.Get(versionHeader); version != "" {
		beside.Headers = append(beside.Headers, llm.Header{Name: versionHeader, Value: version})
	}
	if betas := h.Values(betaHeader); len(betas) > 0 {
		beside.Headers = append(beside.Headers, llm.Header{Name: betaHeader, Value: strings.Join(betas, ",")})
	}
	if query.Get("beta") == "true" {
		beside.Query = "beta=true"
	}
	if session = h.Get(sessionHeader); session == "" {
		session = h.Get(affinityHeader)
	}
	return beside, session
}

// setHeaders adds the request's id under Anthropic's name.
func setHeaders(h http.Header, requestID string) { h[requestIDHeader] = []string{requestID} }

// appendCount adds the answer of /v1/messages/count_tokens.
func appendCount(dst []byte, tokens int64) []byte {
	dst = append(dst, `{"input_tokens":`...)
	return append(strconv.AppendInt(dst, tokens, 10), '}')
}

// setLimit adds the limit of requests under Anthropic's names, with the time rounded up to
// a second, so that no client comes back too early.
func setLimit(h http.Header, limit, remaining int64, whole time.Time) {
	h["Anthropic-Ratelimit-Requests-Limit"] = []string{strconv.FormatInt(limit, 10)}
	h["Anthropic-Ratelimit-Requests-Remaining"] = []string{strconv.FormatInt(remaining, 10)}
	up := whole.Add(time.Second - 1).Truncate(time.Second)
	h["Anthropic-Ratelimit-Requests-Reset"] = []string{up.UTC().Format(time.RFC3339)}
}
