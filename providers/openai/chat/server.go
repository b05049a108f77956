package chat

import (
	"bytes"

	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// lackable are the fields of the members that a server may lack and that a request
// of another dialect can have.
var lackable = map[string]llm.Field{
	"logit_bias": llm.FieldLogitBias, "logprobs": llm.FieldLogprobs, "top_logprobs": llm.FieldTopLogprobs, "seed": llm.FieldSeed,
	"user": llm.FieldUser, "safety_identifier": llm.FieldSafetyIdentifier, "metadata": llm.FieldMetadata,
	"service_tier": llm.FieldServiceTier, "parallel_tool_calls": llm.FieldParallelCalls, "tool_choice": llm.FieldToolChoice,
	"frequency_penalty": llm.FieldFrequencyPenalty, "presence_penalty": llm.FieldPresencePenalty,
	wire.EffortMember: llm.FieldEffort,
}

// adapted is a composed request as the server takes it.
func (c *composition) adapted(body []byte) []byte {
	own := c.Server.Reasoning
	t := translation{Edit: wire.Edit{Server: c.Server}, history: own != "" && own != reasoningContent || c.Server.CallIDs > 0}
	if t.Adapt(body); t.IsEmpty() && !t.history {
		return body
	}
	for _, name := range t.Ignored {
		c.IgnoreIf(true, lackable[name])
	}
	return bytes.Join(t.pieces(body), nil)
}
