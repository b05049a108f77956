package gemini

import (
	"math"

	"modelgateway/models/api"
)

// The bounds of Gemini's generationConfig.
const (
	mostCandidates    = 8
	mostStopSequences = 5
	mostPenalty       = 1.99 // 2 itself is refused
)

func (t *translation) translateLimits() error {
	limit, other := t.req.MaxCompletionTokens, t.req.MaxTokens
	if limit == nil {
		limit = other
	} else if other != nil && *other != *limit {
		t.lose("max_tokens")
	}
	if limit != nil {
		t.config.MaxOutputTokens = *limit
	}
	if n := t.req.N; n != nil && *n > mostCandidates {
		return api.Invalid(api.CodeUnsupportedValue, "n", "this model gives at most %d answers at once, not %d", mostCandidates, *n)
	} else if n != nil && *n > 1 {
		t.config.CandidateCount = *n
	}
	return t.stop()
}

func (t *translation) stop() error {
	for _, s := range t.req.Stop {
		if s != "" {
			t.config.StopSequences = append(t.config.StopSequences, s)
		}
	}
	kept := len(t.config.StopSequences)
	if kept > mostStopSequences {
		return api.Invalid(api.CodeUnsupportedValue, "stop", "this model takes at most %d stop sequences, not %d", mostStopSequences, kept)
	}
	if kept < len(t.req.Stop) && len(t.req.Stop) > 1 { // a single empty one asks for nothing
		t.lose("stop")
	}
	return nil
}

func (t *translation) translateSampling() error {
	t.config.Temperature, t.config.TopP = t.req.Temperature, t.req.TopP
	if most := t.traits.MaxTemperature; most > 0 && t.req.Temperature != nil && *t.req.Temperature > most {
		t.config.Temperature = &most
		t.lose("temperature")
	}
	if k := t.req.TopK; k != nil {
		t.config.TopK = *k
		if *k == 0 { // everywhere else that means no limit, here it is refused
			t.lose("top_k")
		}
	}
	// 0 is the default, and models without penalties refuse even that.
	if p := t.req.PresencePenalty; p != nil {
		t.config.PresencePenalty = min(*p, mostPenalty)
	}
	if p := t.req.FrequencyPenalty; p != nil {
		t.config.FrequencyPenalty = min(*p, mostPenalty)
	}
	if t.req.Logprobs {
		t.config.ResponseLogprobs, t.config.Logprobs = true, t.req.TopLogprobs
	}
	seed := t.req.Seed
	if seed != nil && (*seed < math.MinInt32 || *seed > math.MaxInt32) {
		return api.Invalid(api.CodeUnsupportedValue, "seed", "this model takes seeds of 32 bits only, not %d", *seed)
	}
	t.config.Seed = seed
	return nil
}

func (t *translation) translateFormat() error {
	format := t.req.ResponseFormat
	if format == nil || format.Type == "text" {
		return nil
	}
	t.config.ResponseMIMEType = "application/json"
	if format.JSONSchema == nil {
		return nil
	}
	if format.JSONSchema.Description != "" {
		t.lose("response_format.json_schema.description")
	}
	schema := format.JSONSchema.Schema
	switch {
	case !isObject(schema):
	case t.traits.OpenAPISchemas:
		converted, lossy := openAPI(schema)
		if lossy {
			t.lose("response_format.json_schema.schema")
		}
		if converted != nil {
			t.schema = member{"responseSchema", converted}
		}
	default:
		t.schema = member{"responseJsonSchema", without(schema, "$schema")}
	}
	return nil
}

func (t *translation) translateModalities() error {
	for _, m := range t.req.Modalities {
		switch {
		case m == "text":
		case m == "image" && t.traits.Images:
			t.config.ResponseModalities = []string{"TEXT", "IMAGE"} // some of these models refuse IMAGE alone
		default:
			return api.Invalid(api.CodeUnsupportedValue, "modalities", "this model does not answer with %q", m)
		}
	}
	return nil
}
