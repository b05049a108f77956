package gemini

import (
	"strings"

	"modelgateway/llm"
	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/wire"
)

func (q *request) checkConfig() *wire.Failure {
	const config = "* GenerateContentRequest.generation_config"
	c, extra := q.Config, q.extra.Config
	hasSchema := llm.Given(c.Schema) || llm.Given(c.JSONSchema)
	switch {
	case len(c.StopSequences) > 5:
		return simulated.Refusal(config+".stop_sequences: at most 5 are allowed, got %d\n", len(c.StopSequences))
	case extra.Logprobs != nil && !c.WantsLogprobs:
		return simulated.Refusal(config + ".logprobs: only allowed with response_logprobs\n")
	case llm.Given(c.Schema) && llm.Given(c.JSONSchema):
		return simulated.Refusal(config + ": only one of response_schema and response_json_schema may be set\n")
	case hasSchema && c.MIMEType != "application/json" && c.MIMEType != "text/x.enum":
		return simulated.Refusal(config + ".response_schema: " +
			"only allowed with a response_mime_type of application/json or text/x.enum\n")
	case c.MIMEType == "application/json" && len(q.Functions()) > 0 && q.generation < 3:
		return simulated.Refusal("Function calling with a response mime type: 'application/json' is unsupported")
	case q.MakesImages() && extra.Temperature != nil && *extra.Temperature > 1:
		return simulated.Refusal(config + ".temperature: must be at most 1 for this model\n")
	}
	return q.checkSchema("GenerateContentRequest.generation_config.response_schema", c.Schema)
}

func (q *request) checkThinking() *wire.Failure {
	t := q.Config.Thinking
	if t == nil {
		return nil
	}
	level := strings.ToUpper(t.Level)
	switch {
	case q.generation < 2.5:
		return simulated.Refusal("Thinking is not enabled for models/%s", q.Model)
	case t.Budget != nil && level != "":
		return simulated.Refusal("You can only set only one of thinking budget and thinking level.")
	case level != "" && q.generation < 3:
		return simulated.Refusal("Thinking level is not supported for this model.")
	case t.Budget != nil && strings.HasPrefix(q.Model, "gemini-4-argon"):
		return simulated.Refusal("Thinking budget is not supported for this model.")
	case level == "MINIMAL" && q.alwaysThinks():
		return simulated.Refusal("Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.")
	case t.Budget != nil && q.generation == 2.5:
		return q.checkBudget(*t.Budget)
	}
	return nil
}

// alwaysThinks reports whether the lowest level of thinking is refused.
func (q *request) alwaysThinks() bool {
	for _, family := range []string{"gemini-3-pro", "gemini-3.1-pro", "gemini-3.7-flash"} {
		if strings.HasPrefix(q.Model, family) {
			return true
		}
	}
	return false
}

func (q *request) checkBudget(budget int) *wire.Failure {
	low, high, canBeOff := 1, 24576, true
	switch {
	case strings.HasPrefix(q.Model, "gemini-2.5-pro"):
		low, high, canBeOff = 128, 32768, false
	case strings.HasPrefix(q.Model, "gemini-2.5-flash-lite"):
		low = 512
	}
	dynamic := budget == -1
	if dynamic || budget == 0 && canBeOff || budget >= low && budget <= high {
		return nil
	}
	if budget == 0 {
		return simulated.Refusal("Budget 0 is invalid. This model only works in thinking mode.")
	}
	return simulated.Refusal("The thinking budget %d is invalid. Please choose a value between %d and %d.", budget, low, high)
}
