package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// response has the members of a recorded one, in their order.
type response struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	CreatedAt         int64          `json:"created_at"`
	Status            string         `json:"status"`
	Background        bool           `json:"background"`
	CompletedAt       *int64         `json:"completed_at"`
	Error             *fault         `json:"error"`
	FrequencyPenalty  float64        `json:"frequency_penalty"`
	IncompleteDetails *details       `json:"incomplete_details"`
	Instructions      jsontext.Value `json:"instructions"`
	MaxOutputTokens   *int           `json:"max_output_tokens"`
	MaxToolCalls      *int           `json:"max_tool_calls"`
	Model             string         `json:"model"`
	Output            []item         `json:"output"`
	ParallelToolCalls bool           `json:"parallel_tool_calls"`
	PresencePenalty   float64        `json:"presence_penalty"`
	PreviousResponse  *string        `json:"previous_response_id"`
	PromptCacheKey    jsontext.Value `json:"prompt_cache_key"`
	PromptCacheKept   jsontext.Value `json:"prompt_cache_retention"`
	Reasoning         reasoning      `json:"reasoning"`
	SafetyIdentifier  jsontext.Value `json:"safety_identifier"`
	ServiceTier       string         `json:"service_tier"`
	Store             bool           `json:"store"`
	// SystemFingerprint is no member of the Responses API. It says that the answer is simulated.
	SystemFingerprint string           `json:"system_fingerprint"`
	Temperature       jsontext.Value   `json:"temperature"`
	Text              format           `json:"text"`
	ToolChoice        jsontext.Value   `json:"tool_choice"`
	Tools             []jsontext.Value `json:"tools"`
	TopLogprobs       int              `json:"top_logprobs"`
	TopP              jsontext.Value   `json:"top_p"`
	Truncation        string           `json:"truncation"`
	Usage             *usage           `json:"usage"`
	User              jsontext.Value   `json:"user"`
	Metadata          jsontext.Value   `json:"metadata"`
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type details struct {
	Reason string `json:"reason"`
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type format struct {
	Format    jsontext.Value `json:"format"`
	Verbosity string         `json:"verbosity"`
}

type usage struct {
	InputTokens  int64 `json:"input_tokens"`
	InputDetails struct {
		CacheWrite int64 `json:"cache_write_tokens"`
		Cached     int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int64 `json:"total_tokens"`
}

// begun is the response before anything is generated.
func (s *Service) begun(q *Request, m wire.Model) response {
	a := response{
		ID: wire.NewID("resp_"), Object: "response", CreatedAt: s.options.Now().Unix(), Status: "in_progress",
		Instructions: or(q.Instructions, "null"), MaxOutputTokens: q.MaxOutputTokens, Model: m.AnswersAs(), Output: []item{},
		ParallelToolCalls: q.ParallelToolCalls == nil || *q.ParallelToolCalls, PromptCacheKey: or(q.PromptCacheKey, "null"),
		PromptCacheKept: or(q.PromptCacheRetention, "null"), SafetyIdentifier: or(q.SafetyIdentifier, "null"), ServiceTier: "auto",
		Store: q.Store == nil || *q.Store, SystemFingerprint: "simulated", Temperature: or(q.Temperature, "1.0"),
		Text: format{or(q.Text.Format, `{"type":"text"}`), "medium"}, ToolChoice: or(q.ToolChoice, `"auto"`), Tools: q.Tools,
		TopP: or(q.TopP, "1.0"), Truncation: "disabled", User: or(q.User, "null"), Metadata: or(q.Metadata, "{}"),
	}
	if q.Text.Verbosity != "" {
		a.Text.Verbosity = q.Text.Verbosity
	}
	if a.Tools == nil {
		a.Tools = []jsontext.Value{}
	}
	if q.PreviousResponseID != "" {
		a.PreviousResponse = &q.PreviousResponseID
	}
	if q.Reasoning.Effort != "" {
		a.Reasoning.Effort = &q.Reasoning.Effort
	}
	if summary := q.Reasoning.Summary + q.Reasoning.Former; summary != "" {
		a.Reasoning.Summary = &summary
	}
	return a
}

func or(v jsontext.Value, otherwise string) jsontext.Value {
	if rawjson.Present(v) {
		return v
	}
	return jsontext.Value(otherwise)
}

func (s *Service) answer(q *Request, m wire.Model, p *reply.Prompt) response {
	a := s.begun(q, m)
	if q.compacts {
		p.Choice.Mode, p.Reasons = reply.ChoiceNone, false
	}
	r := p.Reply(0)
	a.Output = q.output(r)
	used := s.cache.Usage(p, []reply.Reply{r}, openai.CacheLeast, openai.CacheStep)
	u := &usage{InputTokens: used.Input, OutputTokens: used.Output, TotalTokens: used.Total}
	u.InputDetails.Cached, u.OutputDetails.Reasoning = used.Cached, used.Reasoning
	a.Usage, a.ServiceTier = u, "default"
	if r.End == reply.EndLength && !q.compacts {
		a.Status, a.IncompleteDetails = incomplete, &details{"max_output_tokens"}
		return a
	}
	now := s.options.Now().Unix()
	a.Status, a.CompletedAt = completed, &now
	return a
}
