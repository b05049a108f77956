package gemini

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// jsonHint asks for JSON in the instructions, where a model takes no format beside
// its functions and there is no schema for a function of the gateway's own.
const jsonHint = "Unless you call a function, answer with one valid JSON object and nothing else: no explanation, no code fence."

// answerByTool makes the answer's schema the parameters of one more function that
// the model has to call, for models that refuse a format beside functions
// ("Function calling with a response mime type: 'application/json' is
// unsupported", all before Gemini 3). The model must call one of the client's
// functions or this one, which is what tools and format together ask for. Where
// the client forces a function this turn has no answer to format; where it
// forbids functions, only this one is left.
func (t *translation) answerByTool(format *llm.Format) error {
	mode := modeAuto
	if t.calling != nil {
		mode = t.calling.Mode
	}
	if mode == modeAny {
		return nil
	}
	if !describesObject(format.Schema) {
		return t.invalid(llm.FieldFormatSchema, api.CodeUnsupportedValue, "beside tools the model %s answers with JSON objects only", t.id)
	}
	if !isObject(format.Schema) || !hasParameters(format.Schema) {
		t.hint = jsonHint
		t.ignore(llm.FieldFormat)
		return nil
	}
	t.answerTool = t.names.unused(t.names.of(cmp.Or(format.Name, "answer")))
	t.declare(&llm.Tool{
		Name: t.answerTool, Parameters: format.Schema,
		Description: "Gives the answer to the user. " + cmp.Or(format.Description, "Call it with the whole answer as its arguments."),
	}, llm.FieldFormatSchema)
	calling := &functionCallingConfig{Mode: modeAny}
	switch {
	case mode == modeNone:
		calling.Allowed = []string{t.answerTool}
	case t.calling != nil && len(t.calling.Allowed) > 0:
		calling.Allowed = append(t.calling.Allowed, t.answerTool)
	}
	t.calling = calling
	return nil
}

// describesObject says whether a schema allows objects, as far as its type says.
func describesObject(schema jsontext.Value) bool {
	for _, m := range members(schema) {
		if m.name == "type" {
			return text(m.value) == "object"
		}
	}
	return true
}

// answerText sends a text of the answer. Where the answer is the call of a
// function, text beside it is none of the answer: it is kept until the end, and
// sent only if the function was not called.
func (s *stream) answerText(c *choice, text string) bool {
	switch {
	case s.exchange.answerTool == "":
		return s.out.Text(c.index, text)
	case c.answered:
		return true
	}
	c.held = append(c.held, text...)
	return true
}

// answerCall sends the arguments of the answer's function as the text of the
// answer; the first call counts.
func (s *stream) answerCall(c *choice, args jsontext.Value) bool {
	if c.answered {
		return true
	}
	c.answered, c.held = true, nil
	return s.out.Text(c.index, arguments(args))
}

// heldText sends what answerText has kept of a choice that did not call the
// answer's function.
func (s *stream) heldText(c *choice) bool {
	return len(c.held) == 0 || s.out.Text(c.index, string(c.held))
}
