package openai

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// adapt leaves out what the server lacks, and writes members under its names.
func (t *translation) adapt(raw []byte) {
	noThinking := t.takes("thinking")
	if len(t.server.Lacks) == 0 && len(t.server.Renames) == 0 && !noThinking {
		return
	}
	for name, value := range scan.Members(raw) {
		member := name.String()
		if slices.Contains(t.server.Lacks, member) {
			t.leaveOut(member, member != streamOptions && asks(member, value))
		}
		if noThinking && member == effortMember && string(value) == `"`+noEffort+`"` {
			t.drop = append(t.drop, member)
			t.put("thinking", jsontext.Value(`{"type":"disabled"}`)) // as DeepSeek is told
		}
		if own, ok := t.server.Renames[member]; ok {
			t.drop = append(t.drop, member)
			t.put(own, value)
		}
	}
}

// asks says whether a member asks for something other than what comes without it.
func asks(member string, value jsontext.Value) bool {
	switch string(value) {
	case `null`, `{}`, `[]`, `""`, `0`:
		return false
	case `false`:
		return member == "parallel_tool_calls"
	case `true`:
		return member != "parallel_tool_calls"
	}
	return true
}

// lackable are the fields of the members that a server may lack and that a request
// of another dialect can have.
var lackable = map[string]llm.Field{
	"logit_bias": llm.FieldLogitBias, "logprobs": llm.FieldLogprobs, "top_logprobs": llm.FieldTopLogprobs, "seed": llm.FieldSeed,
	"user": llm.FieldUser, "safety_identifier": llm.FieldSafetyIdentifier, "metadata": llm.FieldMetadata,
	"service_tier": llm.FieldServiceTier, "parallel_tool_calls": llm.FieldParallelCalls, "tool_choice": llm.FieldToolChoice,
	"frequency_penalty": llm.FieldFrequencyPenalty, "presence_penalty": llm.FieldPresencePenalty,
	effortMember: llm.FieldEffort,
}

// adapted is a composed request as the server takes it.
func (c *composition) adapted(body []byte) ([]byte, error) {
	own := c.server.Reasoning
	t := translation{server: c.server, history: own != "" && own != reasoningContent || c.server.CallIDs > 0}
	if t.adapt(body); len(t.drop) == 0 && !t.history {
		return body, nil
	}
	for _, name := range t.ignored {
		c.ignoreIf(true, lackable[name])
	}
	pieces, err := t.body(body)
	return bytes.Join(pieces, nil), err
}
