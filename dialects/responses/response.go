package responses

import (
	"crypto/rand"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
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
	output    []byte // the JSON of its items, with commas between them
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
	dst = append(append(dst, `{"id":"resp_`...), r.stem...)
	dst = strconv.AppendInt(append(dst, `","object":"response","created_at":`...), r.created, 10)
	dst = append(append(append(dst, `,"status":"`...), s.status...), `","background":false,"completed_at":`...)
	if s.completed > 0 {
		dst = strconv.AppendInt(dst, s.completed, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendFailure(append(dst, `,"error":`...), s.err)
	dst = append(dst, `,"incomplete_details":`...)
	if s.reason != "" {
		dst = append(append(append(dst, `{"reason":"`...), s.reason...), `"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = scan.AppendString(append(dst, `,"model":`...), r.model)
	dst = append(append(append(dst, `,"output":[`...), s.output...), `],"store":`...)
	dst = strconv.AppendBool(dst, r.common.Keep)
	dst = scan.AppendNullable(append(dst, `,"previous_response_id":`...), r.common.Continues)
	for _, e := range echoed {
		dst = append(append(append(dst, `,"`...), memberNames[e.member]...), `":`...)
		if value := r.request.members[e.member]; llm.Given(value) {
			dst = appendLine(dst, value)
		} else {
			dst = append(dst, e.fallback...)
		}
	}
	dst = scan.AppendString(append(dst, `,"service_tier":`...), r.serviceTier())
	dst = append(dst, `,"usage":`...)
	if s.usage == nil && s.status != completed && s.status != incomplete {
		return append(dst, "null}"...)
	}
	return append(appendUsage(dst, s.usage), '}')
}

func (r *response) serviceTier() string {
	if r.tier == "" {
		return "default"
	}
	return r.tier
}

// appendUsage writes a usage with all of its members, which Codex and others demand; nil is
// one without any tokens.
func appendUsage(dst []byte, u *llm.Usage) []byte {
	if u == nil {
		u = new(llm.Usage)
	}
	number := func(name string, n int64) {
		dst = strconv.AppendInt(append(dst, name...), max(n, 0), 10)
	}
	number(`{"input_tokens":`, u.Input)
	number(`,"input_tokens_details":{"cached_tokens":`, u.Cached)
	number(`,"cache_write_tokens":`, u.CacheWrite)
	number(`},"output_tokens":`, u.Output)
	number(`,"output_tokens_details":{"reasoning_tokens":`, u.Reasoning)
	total := u.Total
	if total <= 0 {
		total = u.Input + u.Output
	}
	number(`},"total_tokens":`, total)
	return append(dst, '}')
}

// appendMore adds the text of a JSON string to one that dst ends with, without quotes.
func appendMore(dst []byte, s string) []byte {
	at := len(dst)
	dst = scan.AppendString(dst, s)
	copy(dst[at:], dst[at+1:len(dst)-1])
	return dst[:len(dst)-len(`""`)]
}

// appendLine writes valid JSON without line breaks, which would end the line of an event.
func appendLine(dst []byte, value jsontext.Value) []byte {
	for _, c := range value {
		if c != '\n' && c != '\r' {
			continue
		}
		if line, err := jsontext.AppendFormat(dst, value, jsontext.AllowDuplicateNames(true)); err == nil {
			return line
		}
		return append(dst, "null"...)
	}
	return append(dst, value...)
}
