package gemini

import (
	"math"

	"modelgateway/api"
	"modelgateway/llm"
)

// The bounds of Gemini's generationConfig.
const (
	maxCandidates    = 8
	maxStopSequences = 5
	maxPenalty       = 1.99 // 2 itself is refused
)

func (t *translation) translateLimits() error {
	if limit := t.req.MaxOutput; limit != nil {
		if *limit < 1 {
			return t.invalid(llm.FieldMaxOutput, api.CodeUnsupportedValue,
				"the model %s does not accept %s below 1", t.id, t.req.Path(llm.FieldMaxOutput))
		}
		t.config.MaxOutputTokens = *limit
		if bound := t.maxOutput; t.req.OutputWish && bound > 0 && *limit > bound {
			t.config.MaxOutputTokens = bound
			t.ignore(llm.FieldMaxOutput)
		}
	}
	if n := t.req.Choices; n > maxCandidates {
		return t.invalid(llm.FieldChoices, api.CodeUnsupportedValue,
			"the model %s gives at most %d answers at once, not %d", t.id, maxCandidates, n)
	} else if n > 1 {
		t.config.CandidateCount = n
	}
	t.translateStop()
	return nil
}

// translateStop keeps the first stop sequences where there are more than Gemini takes.
func (t *translation) translateStop() {
	for _, s := range t.req.Stop {
		if s != "" {
			t.config.StopSequences = append(t.config.StopSequences, s)
		}
	}
	kept := len(t.config.StopSequences)
	if kept < len(t.req.Stop) && len(t.req.Stop) > 1 || kept > maxStopSequences { // a single empty one has no meaning
		t.ignore(llm.FieldStop)
	}
	t.config.StopSequences = t.config.StopSequences[:min(kept, maxStopSequences)]
}

func (t *translation) translateSampling() error {
	t.config.Temperature, t.config.TopP = t.req.Temperature, t.req.TopP
	if highest := t.traits.MaxTemperature; highest > 0 && t.req.Temperature != nil && *t.req.Temperature > highest {
		t.config.Temperature = &highest
		t.ignore(llm.FieldTemperature)
	}
	if k := t.req.TopK; k != nil {
		t.config.TopK = *k
		if *k == 0 { // 0 means no limit everywhere else; Gemini refuses it
			t.ignore(llm.FieldTopK)
		}
	}
	// 0 is the default, and models without penalties refuse even that.
	if p := t.req.PresencePenalty; p != nil {
		t.config.PresencePenalty = min(*p, maxPenalty)
	}
	if p := t.req.FrequencyPenalty; p != nil {
		t.config.FrequencyPenalty = min(*p, maxPenalty)
	}
	if t.req.Logprobs {
		t.config.ResponseLogprobs, t.config.Logprobs = true, t.req.TopLogprobs
	}
	seed := t.req.Seed
	if seed != nil && (*seed < math.MinInt32 || *seed > math.MaxInt32) {
		return t.invalid(llm.FieldSeed, api.CodeUnsupportedValue, "the model %s accepts seeds of 32 bits only, not %d", t.id, *seed)
	}
	t.config.Seed = seed
	return nil
}

func (t *translation) translateFormat() error {
	format := t.conversation.Format
	if format == nil {
		return nil
	}
	if len(t.declarations) > 0 && !t.traits.FormatBeside {
		return t.answerByTool(format)
	}
	t.config.ResponseMIMEType = "application/json"
	if format.Description != "" {
		t.ignore(llm.FieldFormatDescription)
	}
	switch {
	case !isObject(format.Schema):
	case t.traits.OpenAPISchemas:
		converted, lossy := openAPI(format.Schema)
		if lossy {
			t.ignore(llm.FieldFormatSchema)
		}
		if converted != nil {
			t.schema = member{"responseSchema", converted}
		}
	default:
		t.schema = member{"responseJsonSchema", without(format.Schema, "$schema")}
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
			return t.invalid(llm.FieldModalities, api.CodeUnsupportedValue, "the model %s does not answer with %q", t.id, m)
		}
	}
	return nil
}
