package gemini

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/wire"
)

func (q *request) checkContents() *wire.Failure {
	if len(q.Contents) == 0 {
		return simulated.Refusal("* GenerateContentRequest.contents: contents is not specified\n")
	}
	if q.Contents[0].Role == "model" {
		return simulated.Refusal("Please ensure that multiturn requests begin with a user turn or a function response turn.")
	}
	for i, c := range q.Contents {
		if !slices.Contains([]string{"", "user", "model", "function"}, c.Role) {
			return simulated.Refusal("Please use a valid role: user, model.")
		}
		if len(c.Parts) == 0 || c.Role != "model" && !slices.ContainsFunc(c.Parts, hasContent) {
			return simulated.Refusal("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		for n, part := range c.Parts {
			if f := checkPart(fmt.Sprintf("contents[%d].parts[%d]", i, n), part); f != nil {
				return f
			}
		}
	}
	return q.checkSystem()
}

func (q *request) checkSystem() *wire.Failure {
	if q.SystemInstruction == nil {
		return nil
	}
	if len(q.SystemInstruction.Parts) == 0 {
		return simulated.Refusal("* GenerateContentRequest.system_instruction.parts: parts must not be empty.\n")
	}
	if strings.HasPrefix(q.Model, "gemma-") && !strings.HasPrefix(q.Model, "gemma-4") {
		return simulated.Refusal("Developer instruction is not enabled for models/%s", q.Model)
	}
	return nil
}

func hasContent(part simulated.Part) bool { return part.Text == nil || *part.Text != "" }

// kinds counts the members of a part's union that are set.
func kinds(part simulated.Part) int {
	n := 0
	for _, set := range []bool{
		part.Text != nil, part.InlineData != nil, part.FileData != nil, part.FunctionCall != nil, part.FunctionResponse != nil,
	} {
		if set {
			n++
		}
	}
	for _, name := range []string{"executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if part.Others[name] != nil {
			n++
		}
	}
	return n
}

func checkPart(at string, part simulated.Part) *wire.Failure {
	set := kinds(part)
	switch {
	case set == 0:
		return simulated.Refusal("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field\n", at)
	case set > 1:
		return simulated.Refusal("Invalid value at '%s' (oneof), oneof field 'data' is already set.", at)
	case part.InlineData != nil && !isBase64(part.InlineData.Data):
		return simulated.Refusal("Invalid value at '%s.inline_data.data' (TYPE_BYTES), Base64 decoding failed", at)
	case part.FunctionCall != nil && part.FunctionCall.Name == "":
		return simulated.Refusal("* GenerateContentRequest.%s.function_call.name: Name cannot be empty.\n", at)
	case part.FunctionResponse != nil && part.FunctionResponse.Name == "":
		return simulated.Refusal("* GenerateContentRequest.%s.function_response.name: Name cannot be empty.\n", at)
	}
	return nil
}

func isBase64(s string) bool {
	_, err := decodeBase64(s)
	return err == nil
}

// isSignature reports whether a model gave a signature.
func isSignature(model, signature string) bool {
	data, err := decodeBase64(signature)
	return err == nil && strings.HasPrefix(string(data), simulated.SignatureMark+model+" ")
}

// decodeBase64 accepts what proto3 JSON accepts: both alphabets, with and without padding.
func decodeBase64(s string) ([]byte, error) {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(standard)
}
