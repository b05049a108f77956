package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// finishWords are words of compatible servers for OpenAI's finish reasons: Together's
// and Mistral's, as their own clients list them.
var finishWords = map[string]string{"eos": string(llm.FinishStop), "model_length": string(llm.FinishLength)}

// nativeReason is the member in which a choice has its server's own word.
const nativeReason = "native_finish_reason"

// finishWord is OpenAI's word for a finish reason; the server's own is added to the
// other members of the choice, where it is another one.
func finishWord(reason string, extra jsontext.Value) (string, jsontext.Value) {
	word, ok := finishWords[reason]
	if !ok {
		return reason, extra
	}
	for name := range scan.Members(extra) {
		if name.Is(nativeReason) {
			return word, extra
		}
	}
	return word, joined(extra, jsontext.Value(`{"`+nativeReason+`":"`+reason+`"}`))
}
