package responses

import (
	"crypto/rand"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// status is that of a response and of its items.
type status string

const (
	inProgress status = "in_progress"
	completed  status = "completed"
	incomplete status = "incomplete"
	failed     status = "failed"
)

// statusOf is the status of a response that has ended so.
func statusOf(e *llm.Ending) status {
	if reasonOf(e) != "" {
		return incomplete
	}
	return completed
}

// reasonOf is why a response is incomplete; empty where it is not.
func reasonOf(e *llm.Ending) string {
	switch e.Finish {
	case llm.FinishLength:
		return "max_output_tokens"
	case llm.FinishContentFilter:
		return "content_filter"
	}
	return ""
}

// response is what all events of an answer say of it.
type response struct {
	request *Request
	common  *llm.Request
	stem    string // what the ids of the response and of its items have in common
	created int64  // Unix seconds
	model   string
	tier    string
}

// state is how far a response has come.
type state struct {
	status    status
	completed int64  // Unix seconds; 0 = it is not
	reason    string // why it is incomplete
	err       *api.Error
	output    []byte // its items, with commas between them
	usage     *llm.Usage
}

func newResponse(req *llm.Request) response {
	return response{request: requestOf(req), common: req, stem: rand.Text(), model: req.Model}
}

// requestOf is the request in the client's form; one without members where it came in
// another.
func requestOf(req *llm.Request) *Request {
	if own, ok := req.Source.(*Request); ok {
		return own
	}
	return &noRequest
}

var noRequest Request //nolint:gochecknoglobals // never changed

// head takes what is known when the answer begins; nil where nothing is.
func (r *response) head(h *llm.Head, now func() time.Time) {
	if h != nil {
		r.answers(h)
		r.created = h.Created
	}
	if r.created == 0 {
		r.created = now().Unix()
	}
}

// answers takes what may be known later than the beginning.
func (r *response) answers(h *llm.Head) {
	if h.Model != "" {
		r.model = h.Model
	}
	r.tier = h.ServiceTier
}

// echoed are the members of a request that its response repeats as the client wrote them,
// with what stands for one that is absent or null.
var echoed = []struct {
	member   member
	fallback string
}{
	{memberInstructions, "null"},
	{memberMaxOutputTokens, "null"},
	{memberMaxToolCalls, "null"},
	{memberParallelToolCalls, "true"},
	{memberPromptCacheKey, "null"},
	{memberPromptCacheRetention, "null"},
	{memberReasoning, `{"effort":null,"summary":null}`},
	{memberSafetyIdentifier, "null"},
	{memberTemperature, "1.0"},
	{memberText, `{"format":{"type":"text"},"verbosity":"medium"}`},
	{memberToolChoice, `"auto"`},
	{memberTools, "[]"},
	{memberTopLogprobs, "0"},
	{memberTopP, "1.0"},
	{memberTruncation, `"disabled"`},
	{memberUser, "null"},
	{memberMetadata, "{}"},
}

// append writes the response, with all the members that OpenAI's schema has.
func (r *response) append(dst []byte, s *state) []byte {
	w := jsonbytes.Writer(dst).Object().Text("id", "resp_"+r.stem).Text("object", "response").Int("created_at", r.created).
		Text("status", string(s.status)).Bool("background", false)
	if s.completed > 0 {
		w = w.Int("completed_at", s.completed)
	} else {
		w = w.Null("completed_at")
	}
	if s.err != nil {
		w = w.ObjectAt("error").Text("code", failureCode(s.err)).Text("message", inStream(s.err).Message).EndObject()
	} else {
		w = w.Null("error")
	}
	if s.reason != "" {
		w = w.ObjectAt("incomplete_details").Text("reason", s.reason).EndObject()
	} else {
		w = w.Null("incomplete_details")
	}
	w = w.Text("model", r.model).List("output", s.output).Bool("store", r.common.Keep).
		TextOrNull("previous_response_id", r.common.Continues)
	for _, e := range echoed {
		if value := r.request.members[e.member]; llm.Given(value) {
			w = appendLine(w.Name(table.Name(e.member)), value)
		} else {
			w = w.JSON(table.Name(e.member), []byte(e.fallback))
		}
	}
	w = w.Text("service_tier", r.serviceTier())
	if s.usage == nil && s.status != completed && s.status != incomplete {
		return w.Null("usage").EndObject()
	}
	return withUsage(w, s.usage).EndObject()
}

func (r *response) serviceTier() string {
	if r.tier == "" {
		return "default"
	}
	return r.tier
}

// withUsage adds a usage with all of its members, which Codex and others demand; nil is one
// without any tokens.
func withUsage(w jsonbytes.Writer, u *llm.Usage) jsonbytes.Writer {
	if u == nil {
		u = new(llm.Usage)
	}
	total := u.Total
	if total <= 0 {
		total = u.Input + u.Output
	}
	return w.ObjectAt("usage").Int("input_tokens", max(u.Input, 0)).
		ObjectAt("input_tokens_details").Int("cached_tokens", max(u.Cached, 0)).Int("cache_write_tokens", max(u.CacheWrite, 0)).EndObject().
		Int("output_tokens", max(u.Output, 0)).
		ObjectAt("output_tokens_details").Int("reasoning_tokens", max(u.Reasoning, 0)).EndObject().
		Int("total_tokens", max(total, 0)).EndObject()
}

// appendMore adds the text of a JSON string to one that dst ends with, without quotes.
func appendMore(dst []byte, s string) []byte {
	at := len(dst)
	dst = jsonbytes.AppendString(dst, s)
	copy(dst[at:], dst[at+1:len(dst)-1])
	return dst[:len(dst)-len(`""`)]
}

// appendLine writes valid JSON without line breaks, which would end the line of an event.
func appendLine[W ~[]byte](dst W, value jsontext.Value) W {
	for _, c := range value {
		if c != '\n' && c != '\r' {
			continue
		}
		if line, err := jsontext.AppendFormat([]byte(dst), value, jsontext.AllowDuplicateNames(true)); err == nil {
			return line
		}
		return append(dst, "null"...)
	}
	return append(dst, value...)
}
