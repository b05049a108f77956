package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readOpenAI reads and checks a request as the service would.
func readOpenAI(w http.ResponseWriter, r *http.Request) (*openaiRequest, model, *failure) {
	raw, err := readObject(w, r)
	if errors.Is(err, errTooLarge) {
		return nil, model{}, openaiFailure(http.StatusRequestEntityTooLarge, openaiFault{Message: "Request body is too large.", Type: openaiBadRequest})
	}
	if err != nil {
		return nil, model{}, openaiRefusal("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	if member(raw, "model") == nil {
		return nil, model{}, openaiRefusal("", "", "you must provide a model parameter")
	}
	if flaws := openaiGrammar.flaws(raw); len(flaws) > 0 {
		return nil, model{}, flaws[0].openai()
	}
	var q openaiRequest
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, model{}, openaiRefusal("", "", err.Error())
	}
	m, known := find(openaiCatalogue, q.Model, openaiFamilies)
	if !known {
		return nil, m, openaiNoModel(q.Model)
	}
	if m.embeds {
		fault := openaiFault{Message: "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?", Type: openaiBadRequest}
		return nil, m, openaiFailure(http.StatusNotFound, fault)
	}
	rules := []func() *failure{q.checkMessages, q.checkToolTurns, q.checkTools, q.checkChoice, q.checkFormat, q.checkExtras, q.checkReasoning}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return nil, m, f
		}
	}
	return &q, m, q.checkLengths(m)
}

func (q *openaiRequest) checkMessages() *failure {
	if len(q.Messages) == 0 {
		return openaiRefusal("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, m := range q.Messages {
		silent := m.Content == nil || m.Content.Kind() == 'n'
		if m.Role == "assistant" && silent && len(m.ToolCalls) == 0 && m.FunctionCall == nil {
			return openaiRefusal(fmt.Sprintf("messages.[%d].content", i), "", "Invalid value for 'content': expected a string, got null.")
		}
		for n, c := range m.ToolCalls {
			if len(c.ID) > 40 {
				at := fmt.Sprintf("messages[%d].tool_calls[%d].id", i, n)
				text := fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length 40, but instead got a string with length %d instead.", at, len(c.ID))
				return openaiRefusal(at, "string_above_max_length", text)
			}
		}
	}
	return nil
}

// checkToolTurns wants every call answered before anything else is said.
func (q *openaiRequest) checkToolTurns() *failure {
	var open []string
	unanswered := func(i int) *failure {
		text := "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + strings.Join(open, ", ")
		return openaiRefusal(fmt.Sprintf("messages.[%d].role", i), "", text)
	}
	for i, m := range q.Messages {
		if m.Role != "tool" {
			if len(open) > 0 {
				return unanswered(i)
			}
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
			continue
		}
		at := slices.Index(open, m.ToolCallID)
		if at < 0 {
			return openaiRefusal(fmt.Sprintf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
		}
		open = slices.Delete(open, at, at+1)
	}
	if len(open) > 0 {
		return unanswered(len(q.Messages))
	}
	return nil
}

var openaiName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (q *openaiRequest) checkTools() *failure {
	if len(q.Tools) > 128 {
		return openaiRefusal("tools", "array_above_max_length", fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length %d instead.", len(q.Tools)))
	}
	for i, t := range q.Tools {
		at := fmt.Sprintf("tools[%d].%s", i, t.Type)
		if !openaiName.MatchString(t.name()) {
			return openaiRefusal(at+".name", "invalid_value", fmt.Sprintf("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at))
		}
		given := readSchema(t.Function.Parameters)
		if t.Function.Parameters != nil && len(given) > 0 && given.typeName() != "object" {
			text := fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'.", t.name(), given.typeName())
			return openaiRefusal(at+".parameters", "invalid_function_parameters", text)
		}
		if t.Function.Strict && openObject(t.Function.Parameters) {
			text := fmt.Sprintf("Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", t.name())
			return openaiRefusal(at+".parameters", "invalid_function_parameters", text)
		}
	}
	return nil
}

func decodeChoice(raw jsontext.Value) (openaiChoice, bool) {
	var c openaiChoice
	if raw.Kind() != '{' || json.Unmarshal(raw, &c) != nil {
		return c, false
	}
	return c, true
}

func (q *openaiRequest) checkChoice() *failure {
	if len(q.Tools) == 0 {
		name := ""
		if given(q.ToolChoice) && text(q.ToolChoice) != "none" {
			name = "tool_choice"
		}
		if q.ParallelToolCalls != nil {
			name = "parallel_tool_calls"
		}
		if name != "" {
			return openaiRefusal(name, "", fmt.Sprintf("Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", name, name))
		}
	}
	offered := map[string]bool{}
	for _, t := range q.Tools {
		offered[t.name()] = true
	}
	for _, f := range q.Functions {
		offered[f.Name] = true
	}
	for _, name := range q.choice().names {
		if !offered[name] {
			return openaiRefusal("tool_choice", "", fmt.Sprintf("Invalid value for 'tool_choice': tool '%s' is not one of the 'tools'.", name))
		}
	}
	return nil
}
