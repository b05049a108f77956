package wire

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Problem is the error object of a body or of an event. Compatible servers
// put numbers where OpenAI has strings, or a text in place of the object.
type Problem struct {
	Type    string         `json:"type"`
	Param   jsontext.Value `json:"param"`
	Code    jsontext.Value `json:"code"`
	Message string         `json:"-"`
}

// UnmarshalJSONFrom reads any value; of one with another form it keeps what can
// be read.
func (p *Problem) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	type plain Problem
	_ = json.Unmarshal(value, (*plain)(p), Lenient)
	p.Message = words(value)
	p.Param, p.Code = p.Param.Clone(), p.Code.Clone()
	return nil
}

// ProblemOf reads what stands where an answer should: nil where it says nothing.
func ProblemOf(text []byte) *Problem {
	if !llm.Given(text) {
		return nil
	}
	p := new(Problem)
	if json.Unmarshal(text, p, Lenient) != nil || p.Message == "" {
		return nil
	}
	return p
}

// words is what a value says: a text, or what stands where servers put one. vLLM
// has message at the top, FastAPI has detail, a text or a list of objects with msg.
func words(value jsontext.Value) string {
	switch value.Kind() {
	case jsontext.KindString:
		return jsonbytes.Text(value)
	case jsontext.KindBeginArray:
		var all []string
		for element := range jsonbytes.Elements(value) {
			all = append(all, words(element))
		}
		return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), "; ")
	case jsontext.KindBeginObject:
		for _, place := range []string{"message", "error", "detail", "msg"} {
			for name, inner := range jsonbytes.Members(value) {
				if !name.Is(place) {
					continue
				}
				if text := words(inner); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

// spent are the types and codes of an account without credit.
var spent = []string{"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"}

// ReadRefusal reads the body of an answer whose status is not 2xx: OpenAI's error, that
// of a compatible server, or a plain text. A page of HTML says nothing to clients,
// nor does the text of a proxy in front of a server that failed.
func ReadRefusal(status int, body []byte) providers.Refusal {
	var answer struct {
		Error *Problem       `json:"error"`
		Code  jsontext.Value `json:"code"` // of an error that is a text, as xAI's
	}
	var p Problem
	switch {
	case json.Unmarshal(body, &answer, Lenient) == nil && answer.Error != nil && answer.Error.Message != "":
		p = *answer.Error
		if len(p.Code) == 0 {
			p.Code = answer.Code
		}
	case json.Unmarshal(body, &p, Lenient) == nil:
	case status < http.StatusInternalServerError && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")):
		p.Message = string(body)
	}
	return p.Refusal(status)
}

// Refusal reads the problem; status is used if the problem has none.
func (p *Problem) Refusal(status int) providers.Refusal {
	code := p.CodeText()
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		status = n
	}
	r := providers.Refusal{Status: status, Message: p.Message, Code: code, Param: jsonbytes.Text(p.Param)}
	r.Spent = slices.Contains(spent, code) || slices.Contains(spent, p.Type)
	wrong := strings.HasPrefix(p.Message, "Incorrect API key provided") // xAI says it with status 400
	r.Key = wrong || code == "invalid_api_key" || code == "account_deactivated" || r.Spent && status != http.StatusTooManyRequests
	if status == http.StatusTooManyRequests {
		r.RetryAfter = wait(p.Message)
	}
	return r
}

// CodeText is the code as a text.
func (p *Problem) CodeText() string {
	if p.Code.Kind() == jsontext.KindNumber {
		return string(p.Code)
	}
	return jsonbytes.Text(p.Code)
}

// StreamStatus is the HTTP status for an error inside a stream.
func (p *Problem) StreamStatus() int {
	switch p.Type {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "requests", "tokens", "rate_limit_error", "insufficient_quota":
		return http.StatusTooManyRequests
	case "service_unavailable_error":
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// asked is OpenAI's wording of a wait in a message without a Retry-After header.
var asked = regexp.MustCompile(`try again in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)`)

func wait(message string) time.Duration {
	m := asked.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return min(d, 24*time.Hour)
}
