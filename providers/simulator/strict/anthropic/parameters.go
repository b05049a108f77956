package anthropic

import (
	"strings"

	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/wire"
)

func (q *request) checkSampling() *wire.Failure {
	switch q.model.sampling {
	case samplesNever:
		switch {
		case q.Temperature != nil && *q.Temperature != 1:
			return simulated.Refusal("`temperature` is not supported for this model.")
		case q.TopP != nil && *q.TopP != 1:
			return simulated.Refusal("`top_p` is not supported for this model.")
		case q.TopK != nil:
			return simulated.Refusal("`top_k` is not supported for this model.")
		}
	case samplesEither:
		if q.Temperature != nil && q.TopP != nil {
			return simulated.Refusal("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
		}
	}
	return nil
}

func (q *request) effort() string {
	if q.OutputConfig == nil {
		return ""
	}
	return q.OutputConfig.Effort
}

func (q *request) checkThinking() *wire.Failure {
	t := q.Thinking
	if t == nil {
		return nil
	}
	hard := q.effort() == "xhigh" || q.effort() == "max"
	switch {
	case q.model.thinking == "" && t.Type == "disabled":
		return nil
	case q.model.thinking == "":
		return simulated.Refusal("'%s' does not support thinking.", q.Model)
	case !strings.Contains(q.model.thinking, t.Type):
		return simulated.Refusal("\"thinking.type.%s\" is not supported for this model.", t.Type)
	case t.Type == "disabled" && hard && q.model.family == "claude-opus-5":
		return simulated.Refusal("thinking may only be disabled when effort is high or lower.")
	case t.Type != "enabled":
		return nil
	}
	return q.checkManualThinking()
}

func (q *request) checkManualThinking() *wire.Failure {
	switch {
	case q.Thinking.BudgetTokens >= q.MaxTokens:
		return simulated.Refusal("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	case q.Temperature != nil && *q.Temperature != 1:
		return simulated.Refusal("`temperature` may only be set to 1 when thinking is enabled.")
	case q.TopK != nil:
		return simulated.Refusal("`top_k` must be unset when thinking is enabled.")
	case q.TopP != nil && *q.TopP < 0.95:
		return simulated.Refusal("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	case q.forcesTools():
		return simulated.Refusal("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (q *request) checkOutput() *wire.Failure {
	if e := q.effort(); e != "" {
		if q.model.efforts == "" {
			return simulated.Refusal("This model does not support the effort parameter.")
		}
		if !strings.Contains(", "+q.model.efforts+",", ", "+e+",") {
			return simulated.Refusal("This model does not support effort level '%s'. Supported levels: %s.", e, q.model.efforts)
		}
	}
	format := q.Format()
	if format == nil {
		return nil
	}
	if !q.model.structured {
		return simulated.Refusal("'%s' does not support output format.", q.Model)
	}
	return checkEnforced("output_config.format.schema", format.Schema)
}

func (q *request) checkStops() *wire.Failure {
	for _, s := range q.StopSequences {
		if strings.TrimSpace(s) == "" {
			return simulated.Refusal("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

func (q *request) checkCaching() *wire.Failure {
	if n := q.Prompt().CacheablePrefixes(); n > 4 {
		return simulated.Refusal("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return nil
}
