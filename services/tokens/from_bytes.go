package tokens

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// FromBytes estimates the tokens of a prompt from the bytes of the request, of texts, code and JSON of
// any script. It takes a millisecond for 400 KiB, allocates nothing, and needs no vocabulary in
// memory. reasons: the model can reason.
func FromBytes(r *llm.Request, v llm.Vocabulary, reasons bool) int64 {
	size := r.Source.Size()
	if !r.Kind.Writes() {
		const bytesPerToken = 4
		return size.Bytes / bytesPerToken
	}
	n := weigher{shown: v == llm.TokensOpenAI}.members(r.Raw) / perToken
	n += tokensPerReply + (tokensPerMessage+tokensPerRole)*int64(size.Messages) + tokensPerMedia*int64(size.Media)
	switch {
	case v == llm.TokensClaude:
		return ofClaude(n, &size, r.Thinking)
	case v == llm.TokensOpenAI && size.Tools > 0:
		n += tokensPerTools
		if reasons {
			n += tokensOfReasoners
		}
	}
	return n
}

const tokensPerRole = 1

// perToken are the units in which texts are weighed.
const perToken = 1000

// prompt are the members of a request that its model reads, in every dialect.
var prompt = map[string]bool{
	"tools": true, "functions": true, "system": true, "messages": true, "instructions": true, "input": true,
	"response_format": true, "text": true, "output_format": true, "output_config": true,
}

// silent are members inside of those that it does not read, or not as text.
var silent = map[string]bool{
	"annotations": true, "cache_control": true, "call_id": true, "caller": true, "data": true, "detail": true, "encrypted_content": true,
	"encrypted_index": true, "execution": true, "file_data": true, "file_id": true, "file_url": true, "id": true, "image_url": true,
	"input_audio": true, "logprobs": true, "media_type": true, "phase": true, "prompt_cache_breakpoint": true, "result": true,
	"role": true, "signature": true, "status": true, "tool_call_id": true, "tool_use_id": true, "type": true, "url": true,
}

// whole are members that it reads as JSON.
var whole = map[string]bool{
	"action": true, "arguments": true, "format": true, "input_schema": true, "json_schema": true, "operation": true, "output_schema": true,
	"parameters": true, "schema": true,
}

// weigher weighs a request. shown: its model is shown tools as OpenAI's models are.
type weigher struct{ shown bool }

// members weighs what of a body a model reads.
func (w weigher) members(body []byte) (sum int64) {
	for name, value := range jsonbytes.Members(body) {
		if key := name.String(); prompt[key] {
			sum += w.member(key, value)
		}
	}
	return sum
}

func (w weigher) member(key string, value jsontext.Value) int64 {
	switch {
	case w.shown && (key == "tools" || key == "functions"):
		return weighTools(value)
	case whole[key] || key == "input" && value.Kind() == jsontext.KindBeginObject:
		return weigh(value)
	case silent[key]:
		return 0
	}
	return w.value(value)
}

func (w weigher) value(value jsontext.Value) (sum int64) {
	switch value.Kind() {
	case jsontext.KindString:
		return weigh(value[1 : len(value)-1])
	case jsontext.KindBeginArray:
		for element := range jsonbytes.Elements(value) {
			sum += w.value(element)
		}
	case jsontext.KindBeginObject:
		for name, inner := range jsonbytes.Members(value) {
			sum += w.member(name.String(), inner)
		}
	}
	return sum
}

// weighTools weighs tools as OpenAI's models are shown them: names, descriptions, and of a schema a line
// for each property.
func weighTools(value jsontext.Value) (sum int64) {
	switch value.Kind() {
	case jsontext.KindString:
		return weigh(value[1 : len(value)-1])
	case jsontext.KindBeginArray:
		for element := range jsonbytes.Elements(value) {
			sum += weighTools(element)
		}
	case jsontext.KindBeginObject:
		for name, inner := range jsonbytes.Members(value) {
			switch key := name.String(); key {
			case "type", "required", "cache_control", "strict", "additionalProperties", "$schema", "pattern", "default":
			case "properties":
				for property, of := range jsonbytes.Members(inner) {
					sum += weigh([]byte(property.String())) + tokensPerProperty*perToken + weighTools(of)
				}
			case "parameters", "input_schema":
				sum += tokensPerFunction*perToken + weighTools(inner)
			default:
				sum += weighTools(inner)
			}
		}
	}
	return sum
}
