package chat

import (
	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// Decode reads and checks a request body, as strictly as api.Decode, and first reserves
// what the request takes beside its body. Its errors are *api.Error and name the field.
// The request keeps body as Raw, which must not be changed any more.
func Decode(memory api.Memory, body []byte) (*llm.Request, error) {
	req, err := decode(memory, body)
	if err != nil {
		return nil, err
	}
	req.share(body)
	if !req.fast {
		req.predicted = prediction(body)
	}
	return &req.common, nil
}

func decode(memory api.Memory, body []byte) (*Request, error) {
	req := new(Request)
	fast, err := req.readFast(memory, body)
	if err != nil {
		return nil, err
	}
	if !fast {
		*req = Request{}
		if err := api.DecodeWithin(memory, body, req, boundedLists); err != nil {
			return nil, err
		}
	}
	req.fast = fast
	if err := req.validate(); err != nil {
		return nil, err
	}
	return req, nil
}

// share fills in the common form.
func (r *Request) share(body []byte) {
	c := &r.common
	*c = llm.Request{
		Source: r, Raw: body, Kind: llm.KindChat,
		Model: r.Model, Stream: r.Stream, User: r.User, Choices: 1,
		Usage:     r.StreamOptions != nil && r.StreamOptions.IncludeUsage,
		MaxOutput: r.MaxCompletionTokens, Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK,
		FrequencyPenalty: r.FrequencyPenalty, PresencePenalty: r.PresencePenalty, Seed: r.Seed, Stop: r.Stop,
		Logprobs: r.Logprobs, TopLogprobs: r.TopLogprobs,
		ParallelCalls: r.ParallelToolCalls, SingleCall: r.legacy(), Effort: r.ReasoningEffort,
		SafetyIdentifier: r.SafetyIdentifier, Metadata: r.Metadata, ServiceTier: r.ServiceTier, Modalities: r.Modalities,
		LogitBias: llm.Present(r.LogitBias), Audio: llm.Present(r.Audio), WebSearch: llm.Present(r.WebSearchOptions),
		Cache: llm.Present(r.CacheControl),
	}
	if c.MaxOutput == nil {
		c.MaxOutput = r.MaxTokens
	}
	for _, limit := range []*int64{r.MaxCompletionTokens, r.MaxTokens} {
		if limit != nil { // a compatible server may know only one of the two
			c.OutputLimit = max(c.OutputLimit, *limit)
		}
	}
	if r.N != nil {
		c.Choices = *r.N
	}
	if r.Thinking != nil {
		c.Thinking = &llm.Thinking{Type: r.Thinking.Type, BudgetTokens: r.Thinking.BudgetTokens, Display: scan.Text(r.Thinking.Display)}
	}
}

// legacy says whether the client uses the deprecated functions, of which an
// answer can call one.
func (r *Request) legacy() bool { return len(r.Tools) == 0 && len(r.Functions) > 0 }
