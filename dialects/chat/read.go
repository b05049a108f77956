package chat

import (
	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// The most elements that the lists of a request may have. An element of two bytes takes
// hundreds in memory, so elements are counted while they are read.
const (
	maxMessages = 10_000
	maxParts    = 1_000 // also images and reasoning details of one message
	maxTools    = 1_024 // also functions, the calls of one message, and the tools of a tool_choice
	maxStop     = 4     // also modalities
	maxMetadata = 16
)

// Decode reads and checks a request body, as strictly as api.Decode, and reserves what the
// request takes beside its body. Its errors are *api.Error and name the field. The request
// keeps text as Raw, which must not be changed any more.
func Decode(memory api.Memory, text []byte) (*llm.Request, error) {
	req, err := decode(memory, text)
	if err != nil {
		return nil, err
	}
	req.share(text)
	return &req.common, nil
}

func decode(memory api.Memory, text []byte) (*Request, error) {
	req, in := new(Request), body.NewReader(memory, text)
	in.Strict = true
	for name := range in.Object() {
		req.member(in, name)
	}
	if err := in.Close(); err != nil {
		return nil, err
	}
	req.left = in.Left
	if err := req.validate(); err != nil {
		return nil, err
	}
	return req, nil
}

// share fills in the common form.
func (r *Request) share(body []byte) {
	c := &r.common
	*c = llm.Request{
		Source: r, Raw: body, Prompt: c.Prompt, Kind: llm.KindChat,
		Model: r.Model, Stream: r.Stream, User: r.User, Choices: 1,
		Usage:     r.StreamOptions != nil && r.StreamOptions.IncludeUsage,
		MaxOutput: r.MaxCompletionTokens, Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK,
		FrequencyPenalty: r.FrequencyPenalty, PresencePenalty: r.PresencePenalty, Seed: r.Seed, Stop: r.Stop,
		Logprobs: r.Logprobs, TopLogprobs: r.TopLogprobs,
		ParallelCalls: r.ParallelToolCalls, SingleCall: r.legacy(), Effort: r.ReasoningEffort,
		SafetyIdentifier: r.SafetyIdentifier, Metadata: r.Metadata, Project: r.Metadata["project"],
		ServiceTier: r.ServiceTier, Modalities: r.Modalities,
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
		t := r.Thinking
		c.Thinking = &llm.Thinking{Type: t.Type, BudgetTokens: t.BudgetTokens, Display: jsonbytes.Text(t.Display)}
	}
}

// legacy says whether the client uses the deprecated functions, of which an
// answer can call one.
func (r *Request) legacy() bool { return len(r.Tools) == 0 && len(r.Functions) > 0 }

// member reads a member of a request.
func (r *Request) member(in *body.Reader, name []byte) {
	switch string(name) {
	case "model":
		r.Model = in.Text()
	case "messages":
		for range in.Elements(maxMessages, &r.common.Prompt.Messages) {
			readMessage(in, body.Add(in, &r.Messages))
		}
	case "max_tokens":
		r.MaxTokens = in.Integer()
	case "max_completion_tokens":
		r.MaxCompletionTokens = in.Integer()
	case "temperature":
		r.Temperature = in.Float()
	case "top_p":
		r.TopP = in.Float()
	case "top_k":
		r.TopK = in.Integer()
	case "frequency_penalty":
		r.FrequencyPenalty = in.Float()
	case "presence_penalty":
		r.PresencePenalty = in.Float()
	case "stop":
		r.Stop = readStop(in)
	case "n":
		r.N = in.Integer()
	case "seed":
		r.Seed = in.Integer()
	case "logit_bias":
		r.LogitBias = in.Raw()
	case "logprobs":
		r.Logprobs = in.IsTrue()
	case "top_logprobs":
		r.TopLogprobs = in.Integer()
	case "stream":
		r.Stream = in.IsTrue()
	case "stream_options":
		r.StreamOptions = readStreamOptions(in)
	case "parallel_tool_calls":
		r.ParallelToolCalls = in.Flag()
	case "reasoning_effort":
		r.ReasoningEffort = in.Text()
	case "thinking":
		r.Thinking = readThinking(in)
	case "user":
		r.User = in.Text()
	case "safety_identifier":
		r.SafetyIdentifier = in.Text()
	case "metadata":
		r.Metadata = readMetadata(in)
	case "service_tier":
		r.ServiceTier = in.Text()
	case "modalities":
		r.Modalities = readTexts(in)
	case "audio":
		r.Audio = in.Raw()
	case "web_search_options":
		r.WebSearchOptions = in.Raw()
	case "cache_control":
		r.CacheControl = in.Raw()
	default:
		r.toolMember(in, name)
	}
}

// leave reads a member of the objects at a path that has no place in the common form.
func leave(in *body.Reader, path string, name []byte) { in.Left.Add(path, name, in.Raw()) }

func readTexts(in *body.Reader) (all []string) {
	for range in.List(maxStop) {
		*body.Add(in, &all) = in.Text()
	}
	return all
}

// readStop reads a text or a list of them.
func readStop(in *body.Reader) []string {
	switch in.Peek() {
	case '[', 'n':
		return readTexts(in)
	default:
		return []string{in.Text()}
	}
}

func readMetadata(in *body.Reader) map[string]string {
	if in.IsNull() {
		return nil
	}
	all, start := map[string]string{}, in.Start()
	for name := range in.Object() {
		if len(all) == maxMetadata {
			in.Refuse(api.TooMany(in.Path(start), maxMetadata))
			break
		}
		all[string(name)] = in.Text()
	}
	return all
}

func readStreamOptions(in *body.Reader) *StreamOptions {
	if in.IsNull() {
		return nil
	}
	o := new(StreamOptions)
	for name := range in.Object() {
		switch string(name) {
		case "include_usage":
			o.IncludeUsage = in.IsTrue()
		case "include_obfuscation":
			in.Value()
		default:
			leave(in, "stream_options.", name)
		}
	}
	return o
}

func readThinking(in *body.Reader) *Thinking {
	if in.IsNull() {
		return nil
	}
	t := new(Thinking)
	for name := range in.Object() {
		switch string(name) {
		case "type":
			t.Type = in.Text(thinkingTypes...)
		case "budget_tokens":
			if n := in.Integer(); n != nil {
				t.BudgetTokens = *n
			}
		case "display":
			t.Display = in.Raw()
		default:
			leave(in, "thinking.", name)
		}
	}
	return t
}

func readFormat(in *body.Reader) *ResponseFormat {
	if in.IsNull() {
		return nil
	}
	f := new(ResponseFormat)
	for name := range in.Object() {
		switch string(name) {
		case "type":
			f.Type = in.Text(formatTypes...)
		case "json_schema":
			f.JSONSchema = readSchema(in)
		default:
			leave(in, "response_format.", name)
		}
	}
	return f
}

func readSchema(in *body.Reader) *JSONSchema {
	if in.IsNull() {
		return nil
	}
	s := new(JSONSchema)
	for name := range in.Object() {
		switch string(name) {
		case "name":
			s.Name = in.Text()
		case "description":
			s.Description = in.Text()
		case "schema":
			s.Schema = in.Raw()
		case "strict":
			s.Strict = in.Flag()
		default:
			leave(in, "response_format.json_schema.", name)
		}
	}
	return s
}
