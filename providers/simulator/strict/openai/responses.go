package openai

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers/simulator/openai/responses"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// responsesForm is the body of POST /v1/responses. Of the items and the tools it has those
// that other APIs have as well; others are left to the simulator. Codex sends the member
// internal_chat_message_metadata_passthrough to OpenAI itself (0.169, 2026-11-22).
// Source: https://platform.openai.com/docs/api-reference/responses/create
//
//go:embed responses.json
var responsesForm []byte

// CheckResponses returns the error answer to a request to the Responses API, or nil.
func CheckResponses(body jsontext.Value) *wire.Failure {
	for _, v := range grammar.Read(responsesForm).Violations(body) {
		if v.Kind != grammar.Tag || !hosted.MatchString(v.Path.Brackets()) {
			return wording(v)
		}
	}
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return refuse("", "", "%v", err)
	}
	for _, rule := range []func() *wire.Failure{q.checkEncrypted, q.checkThoughts, q.checkCalls, q.checkOffered, q.checkReasons} {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}

// hosted are the places of what only this API has: tools that OpenAI runs, their items and
// the choice of one.
var hosted = regexp.MustCompile(`^(input\[\d+\]|tools\[\d+\]|tool_choice)\.type$`)

type responsesRequest struct {
	responses.Request
	Items []struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Role      string `json:"role"`
		CallID    string `json:"call_id"`
		Encrypted string `json:"encrypted_content"`
	} `json:"-"`
}

// UnmarshalJSON reads the items as well.
func (q *responsesRequest) UnmarshalJSON(body []byte) error {
	if err := json.Unmarshal(body, &q.Request); err != nil {
		return err
	}
	if q.Input.Kind() != '[' {
		return nil
	}
	return json.Unmarshal(q.Input, &q.Items)
}

// checkEncrypted refuses encrypted content which OpenAI has not made.
func (q *responsesRequest) checkEncrypted() *wire.Failure {
	for _, item := range q.Items {
		if item.Encrypted == "" {
			continue
		}
		if _, ours := responses.Decrypt(item.Encrypted); !ours {
			return refuse("", "invalid_encrypted_content", "The encrypted content for item %s could not be "+
				"verified. Reason: Encrypted content could not be decrypted or parsed.", item.ID)
		}
	}
	return nil
}

// checkThoughts refuses a thought from which nothing of the assistant follows, and one that
// is there twice.
func (q *responsesRequest) checkThoughts() *wire.Failure {
	seen := map[string]bool{}
	for i, item := range q.Items {
		if item.Type != "reasoning" {
			continue
		}
		if seen[item.ID] && item.ID != "" {
			return refuse("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", item.ID)
		}
		seen[item.ID] = true
		if i+1 == len(q.Items) || q.Items[i+1].Role != "" && q.Items[i+1].Role != "assistant" || strings.HasSuffix(q.Items[i+1].Type, "_output") {
			return refuse("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", item.ID)
		}
	}
	return nil
}

// checkCalls wants an output for each call, behind it, and a call for each output.
func (q *responsesRequest) checkCalls() *wire.Failure {
	calls := []string{"function_call", "custom_tool_call"}
	open := map[string]bool{}
	kept := q.PreviousResponseID != "" // a call may be what OpenAI has kept
	for _, item := range q.Items {
		kept = kept || item.Type == "item_reference"
		kind, isOutput := strings.CutSuffix(item.Type, "_output")
		switch {
		case !slices.Contains(calls, kind) || item.CallID == "":
		case len(item.CallID) > 64:
			return refuse("input", "string_above_max_length", "Invalid 'call_id': string too long. "+
				"Expected a string with maximum length 64, but got a string with length %d instead.", len(item.CallID))
		case !isOutput:
			open[item.CallID] = true
		case !open[item.CallID] && !kept:
			return refuse("input", "", "No tool call found for function call output with call_id %s.", item.CallID)
		default:
			delete(open, item.CallID)
		}
	}
	for _, item := range q.Items { // in their order
		if open[item.CallID] {
			return refuse("input", "", "No tool output found for function call %s.", item.CallID)
		}
	}
	return nil
}

// checkOffered checks the tools and the choice of one of them.
func (q *responsesRequest) checkOffered() *wire.Failure {
	offered := map[string]bool{}
	for _, raw := range q.Tools {
		var t struct {
			Type       string         `json:"type"`
			Name       string         `json:"name"`
			Parameters jsontext.Value `json:"parameters"`
			Strict     *bool          `json:"strict"`
		}
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		offered[t.Name] = true
		if t.Type != "function" {
			continue
		}
		if f := checkName("tools.name", t.Name); f != nil {
			return f
		}
		// Without the member OpenAI makes the schema fit by itself: the answer that was recorded shows it.
		if t.Strict != nil && *t.Strict && grammar.OpenObject(t.Parameters) {
			return refuse("tools", "invalid_function_parameters", "Invalid schema for function '%s': "+
				"In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name)
		}
	}
	if name := rawjson.GetString(q.ToolChoice, "name"); name != "" && !offered[name] {
		return refuse("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", name)
	}
	return nil
}

// checkReasons refuses what models that reason do not take, and of others what only those
// take.
func (q *responsesRequest) checkReasons() *wire.Failure {
	version := generation(q.Model)
	isO := strings.HasPrefix(q.Model, "o1") || strings.HasPrefix(q.Model, "o3") || strings.HasPrefix(q.Model, "o4")
	unsupported := func(param string) *wire.Failure {
		return refuse(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", param)
	}
	switch {
	case !isO && version > 0 && version < 5:
		if slices.Contains(q.Include, "reasoning.encrypted_content") {
			return refuse("include", "", "Encrypted content is not supported with this model.")
		}
		if q.Reasoning.Effort != "" {
			return unsupported("reasoning.effort")
		}
		return nil
	case q.Reasoning.Effort == "none" || q.Reasoning.Effort == "" && version > 5 && version < 5.5:
		return nil
	case isO || version >= 5:
		for param, value := range map[string]jsontext.Value{"temperature": q.Temperature, "top_p": q.TopP} {
			if llm.Given(value) && string(value) != "1" && string(value) != "1.0" {
				return unsupported(param)
			}
		}
	}
	return nil
}
