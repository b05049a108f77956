package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

type answer struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         string           `json:"role"`
	Model        string           `json:"model"`
	Content      []jsontext.Value `json:"content"`
	StopReason   *string          `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	StopDetails  *string          `json:"stop_details"`
	Usage        usage            `json:"usage"`
	// ContextManagement says what was left out of the conversation; the simulator keeps it all.
	ContextManagement *contextManagement `json:"context_management,omitzero"`
}

type contextManagement struct {
	AppliedEdits []jsontext.Value `json:"applied_edits"`
}

type usage struct {
	InputTokens   int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheWrites   struct {
		Short int `json:"ephemeral_5m_input_tokens"`
		Long  int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokens  int `json:"output_tokens"`
	OutputDetails struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServiceTier  string `json:"service_tier"`
	InferenceGeo string `json:"inference_geo"`
}

var stopReasons = map[reply.End]string{
	reply.EndTurn: "end_turn", reply.EndStop: "stop_sequence", reply.EndLength: "max_tokens", reply.EndCalls: "tool_use",
}

// answer is the answer without its content. Cached tokens are not among the
// input tokens; thinking is among the output tokens. Prompts of any length are
// cached, unlike Anthropic's, so that a demo with a short prompt shows it.
func (s *Service) answer(q *Request, m wire.Model, p *reply.Prompt, r reply.Reply) answer {
	a := answer{ID: wire.NewID("msg_01"), Type: "message", Role: "assistant", Model: m.AnswersAs(), Content: []jsontext.Value{}}
	a.StopReason = new(stopReasons[r.End])
	if r.End == reply.EndStop {
		a.StopSequence = &r.Stop
	}
	if rawjson.Present(q.ContextManagement) {
		a.ContextManagement = &contextManagement{AppliedEdits: []jsontext.Value{}}
	}
	read, written := s.cache.Use(p, 0)
	a.Usage = usage{ServiceTier: "standard", InferenceGeo: "not_available"}
	a.Usage.InputTokens = p.Tokens() - read - written
	a.Usage.CacheRead, a.Usage.CacheCreation, a.Usage.CacheWrites.Short = read, written, written
	a.Usage.OutputDetails.Thinking = r.ReasoningTokens()
	a.Usage.OutputTokens = r.ReasoningTokens() + r.AnswerTokens()
	return a
}

// blocks is the content of a whole answer. A call that was cut short has an empty
// input, because its arguments are not JSON.
func (q *Request) blocks(r reply.Reply) []jsontext.Value {
	blocks := []jsontext.Value{}
	if r.Reasoning != "" {
		shown := q.shown(r.Reasoning)
		blocks = append(blocks, rawjson.Encode(rawjson.Object{"type", "thinking", "thinking", shown, "signature", Sign(shown)}))
	}
	if r.Text != "" {
		blocks = append(blocks, rawjson.Encode(rawjson.Object{"type", "text", "text", r.Text}))
	}
	for _, c := range r.Calls {
		input := jsontext.Value("{}")
		if c.Complete {
			input = jsontext.Value(c.Arguments)
		}
		blocks = append(blocks, rawjson.Encode(toolUse(c.Name, input)))
	}
	return blocks
}

func toolUse(name string, input any) rawjson.Object {
	return rawjson.Object{
		"type", "tool_use", "id", wire.NewID("toolu_01"), "name", name, "input", input, "caller", rawjson.Object{"type", "direct"},
	}
}
