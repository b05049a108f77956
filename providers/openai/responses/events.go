package responses

import (
	"errors"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/wire"
)

// The types of events that have a meaning here.
const (
	eventCreated    = "response.created"
	eventQueued     = "response.queued"
	eventInProgress = "response.in_progress"
	eventCompleted  = "response.completed"
	eventIncomplete = "response.incomplete"
	eventFailed     = "response.failed"
	eventError      = "error"

	eventItemAdded   = "response.output_item.added"
	eventItemDone    = "response.output_item.done"
	eventText        = "response.output_text.delta"
	eventRefusal     = "response.refusal.delta"
	eventSummary     = "response.reasoning_summary_text.delta"
	eventReasoning   = "response.reasoning_text.delta"
	eventArguments   = "response.function_call_arguments.delta"
	eventCustomInput = "response.custom_tool_call_input.delta"
)

// knownEvents are all of them. OpenAI adds others: their members are not read.
var knownEvents = []string{
	eventText, eventArguments, eventSummary, eventItemAdded, eventItemDone, eventCreated, eventInProgress, eventCompleted,
	eventRefusal, eventReasoning, eventCustomInput, eventIncomplete, eventFailed, eventError, eventQueued,
}

// responseEvent is one event of a stream.
type responseEvent struct {
	Type         string      `json:"-"`
	OutputIndex  int64       `json:"output_index"`
	ContentIndex int64       `json:"content_index"`
	SummaryIndex int64       `json:"summary_index"`
	Delta        string      `json:"delta"`
	Item         *outputItem `json:"item"`
	Response     *response   `json:"response"`

	// Of an error, which is told flat or in an object.
	Error   *wire.Problem  `json:"error"`
	Message string         `json:"message"`
	Code    jsontext.Value `json:"code"`
	Param   jsontext.Value `json:"param"`
}

// part is the index of the part that the event adds to.
func (e *responseEvent) part() int64 { return max(e.ContentIndex, e.SummaryIndex) }

// decode reads an event in full; false for one of an unknown type. The line with the name
// need not be there.
func (e *responseEvent) decode(name string, data []byte) (known bool, err error) {
	if !slices.Contains(knownEvents, name) {
		var typed struct {
			Type  string         `json:"type"`
			Error jsontext.Value `json:"error"`
		}
		if err := json.Unmarshal(data, &typed, wire.Lenient); err != nil {
			return false, err
		}
		if name = typed.Type; name == "" && llm.Given(typed.Error) {
			name = eventError
		}
	}
	at := slices.Index(knownEvents, name)
	if at < 0 {
		return false, nil
	}
	*e = responseEvent{Type: knownEvents[at]}
	if err := json.Unmarshal(data, e, wire.Lenient); err != nil {
		return false, err
	}
	return true, e.check()
}

var (
	errNoItem     = errors.New("an event of an item has no item")
	errNoResponse = errors.New("an event of the response has no response")
)

// check fails on an event without what its type promises.
func (e *responseEvent) check() error {
	switch e.Type {
	case eventItemAdded, eventItemDone:
		if e.Item == nil {
			return errNoItem
		}
	case eventCreated, eventInProgress, eventCompleted, eventIncomplete, eventFailed:
		if e.Response == nil {
			return errNoResponse
		}
	}
	return nil
}

// problem is what an event of type error says.
func (e *responseEvent) problem() *wire.Problem {
	if e.Error != nil && e.Error.Message != "" {
		return e.Error
	}
	return &wire.Problem{Message: e.Message, Code: e.Code, Param: e.Param}
}

// response is an answer: whole, or as far as an event knows it.
type response struct {
	ID          string        `json:"id"`
	Model       string        `json:"model"`
	CreatedAt   float64       `json:"created_at"`
	Status      string        `json:"status"`
	ServiceTier string        `json:"service_tier"`
	Output      []outputItem  `json:"output"`
	Usage       *outputUsage  `json:"usage"`
	Error       *wire.Problem `json:"error"`
	Incomplete  *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	ToolUsage struct {
		WebSearch struct {
			Requests int64 `json:"num_requests"`
		} `json:"web_search"`
	} `json:"tool_usage"`
}

// problem is why the answer failed.
func (r *response) problem() *wire.Problem {
	if r.Error != nil && r.Error.Message != "" {
		return r.Error
	}
	return &wire.Problem{Message: "the answer failed", Code: jsontext.Value(`"server_error"`)}
}

// reason is why the answer is incomplete; empty where it is complete.
func (r *response) reason() string {
	switch {
	case r.Status != "incomplete":
		return ""
	case r.Incomplete == nil || r.Incomplete.Reason == "":
		return r.Status
	}
	return r.Incomplete.Reason
}

// outputItem is one piece of an answer.
type outputItem struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	Content   []outputPart `json:"content"` // of a message; of a thought in full
	Summary   []outputPart `json:"summary"`
	Encrypted string       `json:"encrypted_content"`

	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Status    string        `json:"status"`
	Arguments callArguments `json:"arguments"`
	Input     string        `json:"input"`
}

// callArguments are JSON in a string; of a search for tools they are JSON itself.
type callArguments string

// UnmarshalJSONFrom reads either.
func (a *callArguments) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != jsontext.KindString {
		*a = callArguments(value)
		return nil
	}
	*a = callArguments(jsonbytes.Text(value))
	return nil
}

type outputPart struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Refusal     string           `json:"refusal"`
	Annotations []jsontext.Value `json:"annotations"`
}

type outputUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails *struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64 `json:"total_tokens"`
}

// usage is that of the answer; nil where it reports none.
func (r *response) usage() *llm.Usage {
	u := r.Usage
	if u == nil {
		return nil
	}
	out := &llm.Usage{
		Input: max(u.Input, 0), Output: max(u.Output, 0), Total: u.Total, Searches: max(r.ToolUsage.WebSearch.Requests, 0),
	}
	if out.Total <= 0 {
		out.Total = out.Input + out.Output
	}
	if d := u.InputDetails; d != nil {
		out.HasCache, out.Cached, out.CacheWrite = true, max(d.Cached, 0), max(d.CacheWrite, 0)
	}
	if d := u.OutputDetails; d != nil {
		out.HasReasoning, out.Reasoning = true, max(d.Reasoning, 0)
	}
	return out
}

// inStream is the refusal that an event of a stream says, or an answer under status 200.
func inStream(p *wire.Problem) providers.Refusal { return p.Refusal(responseStatus(p)) }

// responseStatuses are the HTTP statuses for the codes of errors inside an answer.
var responseStatuses = map[string]int{
	"rate_limit_exceeded": http.StatusTooManyRequests, "insufficient_quota": http.StatusTooManyRequests,
	"server_is_overloaded": http.StatusServiceUnavailable, "slow_down": http.StatusServiceUnavailable,
	"context_length_exceeded": http.StatusBadRequest, "invalid_prompt": http.StatusBadRequest,
	"bio_policy": http.StatusBadRequest, "misalignment_policy_violation": http.StatusBadRequest,
	"data_residency_mismatch": http.StatusBadRequest, "cyber_policy": http.StatusBadRequest,
	"invalid_image": http.StatusBadRequest, "invalid_image_format": http.StatusBadRequest,
	"invalid_base64_image": http.StatusBadRequest, "invalid_image_url": http.StatusBadRequest,
	"image_too_large": http.StatusBadRequest, "image_too_small": http.StatusBadRequest,
	"image_parse_error": http.StatusBadRequest, "image_content_policy_violation": http.StatusBadRequest,
	"invalid_image_mode": http.StatusBadRequest, "image_file_too_large": http.StatusBadRequest,
	"unsupported_image_media_type": http.StatusBadRequest, "empty_image_file": http.StatusBadRequest,
	"failed_to_download_image": http.StatusBadRequest, "image_file_not_found": http.StatusBadRequest,
}

func responseStatus(p *wire.Problem) int {
	if status, ok := responseStatuses[p.CodeText()]; ok {
		return status
	}
	return p.StreamStatus()
}
