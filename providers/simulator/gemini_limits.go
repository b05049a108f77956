package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

func (q *geminiRequest) checkConfig() *failure {
	c := q.Config
	asked := given(c.Schema) || given(c.JSONSchema)
	switch {
	case len(c.StopSequences) > 5:
		return geminiRefusal("* GenerateContentRequest.generation_config.stop_sequences: at most 5 are allowed, got %d\n", len(c.StopSequences))
	case c.Logprobs != nil && !c.WantsLogprobs:
		return geminiRefusal("* GenerateContentRequest.generation_config.logprobs: only allowed with response_logprobs\n")
	case given(c.Schema) && given(c.JSONSchema):
		return geminiRefusal("* GenerateContentRequest.generation_config: only one of response_schema and response_json_schema may be set\n")
	case asked && c.MimeType != "application/json" && c.MimeType != "text/x.enum":
		return geminiRefusal("* GenerateContentRequest.generation_config.response_schema: only allowed with a response_mime_type of application/json or text/x.enum\n")
	case c.MimeType == "application/json" && len(q.functions()) > 0 && geminiGeneration(q.model) < 3:
		return geminiRefusal("Function calling with a response mime type: 'application/json' is unsupported")
	case q.makesImages() && c.Temperature != nil && *c.Temperature > 1:
		return geminiRefusal("* GenerateContentRequest.generation_config.temperature: must be at most 1 for this model\n")
	}
	return q.checkSchema("GenerateContentRequest.generation_config.response_schema", c.Schema)
}

// makesImages says whether a picture comes with the text.
func (q *geminiRequest) makesImages() bool {
	return strings.Contains(q.model, "-image") || slices.Contains(q.Config.Modalities, "IMAGE")
}

func (q *geminiRequest) checkThinking() *failure {
	t, generation := q.Config.Thinking, geminiGeneration(q.model)
	if t == nil {
		return nil
	}
	level := strings.ToUpper(t.Level)
	switch {
	case generation < 2.5:
		return geminiRefusal("Thinking is not enabled for models/%s", q.model)
	case t.Budget != nil && level != "":
		return geminiRefusal("You can only set only one of thinking budget and thinking level.")
	case level != "" && generation < 3:
		return geminiRefusal("Thinking level is not supported for this model.")
	case t.Budget != nil && strings.HasPrefix(q.model, "gemini-4-argon"):
		return geminiRefusal("Thinking budget is not supported for this model.")
	case level == "MINIMAL" && q.thinksHard():
		return geminiRefusal("Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.")
	case t.Budget != nil && generation == 2.5:
		return q.checkBudget(*t.Budget)
	}
	return nil
}

func (q *geminiRequest) thinksHard() bool {
	for _, family := range []string{"gemini-3-pro", "gemini-3.1-pro", "gemini-3.7-flash"} {
		if strings.HasPrefix(q.model, family) {
			return true
		}
	}
	return false
}

func (q *geminiRequest) checkBudget(budget int) *failure {
	low, high, canBeOff := 1, 24576, true
	switch {
	case strings.HasPrefix(q.model, "gemini-2.5-pro"):
		low, high, canBeOff = 128, 32768, false
	case strings.HasPrefix(q.model, "gemini-2.5-flash-lite"):
		low = 512
	}
	dynamic := budget == -1
	if dynamic || budget == 0 && canBeOff || budget >= low && budget <= high {
		return nil
	}
	if budget == 0 {
		return geminiRefusal("Budget 0 is invalid. This model only works in thinking mode.")
	}
	return geminiRefusal("The thinking budget %d is invalid. Please choose a value between %d and %d.", budget, low, high)
}

// geminiSkips are the signatures that Google documents for histories that have
// none.
var geminiSkips = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// checkSignatures wants the first call of each step of the current turn to come
// back with its signature from Gemini 3 on, and any signature to be one that
// this model gave.
func (q *geminiRequest) checkSignatures() *failure {
	current := 0
	for i, c := range q.Contents {
		if c.Role != "model" && len(c.responses()) < len(c.Parts) {
			current = i
		}
	}
	for i, c := range q.Contents {
		first := true
		for _, part := range c.Parts {
			if !q.knowsSignature(part.ThoughtSignature) {
				return geminiRefusal("Corrupted thought signature.")
			}
			if part.FunctionCall == nil {
				continue
			}
			if first && part.ThoughtSignature == "" && i > current && geminiGeneration(q.model) >= 3 {
				return geminiRefusal("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s`, position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", part.FunctionCall.Name, i+1)
			}
			first = false
		}
	}
	return nil
}

const thoughtMark = "simulated thought of "

// signature is of a thought that led to what was said.
func (q *geminiRequest) signature(said string) string {
	sum := sha256.Sum256([]byte(said))
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%s %x", thoughtMark, q.model, sum))
}

func (q *geminiRequest) knowsSignature(signature string) bool {
	if signature == "" || slices.Contains(geminiSkips, signature) {
		return true
	}
	data, err := decodeBase64(signature)
	return err == nil && strings.HasPrefix(string(data), thoughtMark+q.model+" ")
}

func decodeBase64(s string) ([]byte, error) {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(standard)
}
