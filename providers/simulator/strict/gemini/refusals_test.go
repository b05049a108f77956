package gemini_test

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello    = simulatortest.HelloContent
	weather  = simulatortest.GeminiTools
	call     = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
	response = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
	bad      = `"status":"INVALID_ARGUMENT"`
)

var (
	body  = simulatortest.ContentsBody
	flash = simulatortest.Gemini("gemini-2.5-flash", "generateContent")
)

func config(c string) string { return body(`,"generationConfig":{`+c+`}`, hello) }

func tool(f string) string { return body(`,"tools":[{"functionDeclarations":[`+f+`]}]`, hello) }

func TestRefusesWrongContents(t *testing.T) {
	refuses := flash.Refuser(t)
	refuses("not JSON", `{`, 400, bad)
	refuses("no contents", `{}`, 400, "GenerateContentRequest.contents: contents is not specified")
	refuses("empty contents", body("", ""), 400, "contents is not specified")
	refuses("empty parts", body("", `{"role":"user","parts":[]}`), 400, "contents[0].parts: contents.parts must not be empty")
	refuses("empty text", body("", `{"role":"user","parts":[{"text":""}]}`), 400, "must not be empty")
	refuses("empty part", body("", `{"role":"model","parts":[{}]}`), 400, "begin with a user turn")
	refuses("part of nothing", body("", `{"role":"user","parts":[{}]}`), 400, "must have one initialized field")
	refuses("part of two",
		body("", `{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AA=="}}]}`),
		400, "oneof")
	refuses("unknown role",
		body("", `{"role":"assistant","parts":[{"text":"x"}]}`),
		400, "Please use a valid role: user, model.")
	refuses("not base64",
		body("", `{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"data:x"}}]}`),
		400, "Base64 decoding failed")
	refuses("unknown field",
		body(`,"max_tokens":5`, hello),
		400, `Unknown name \"max_tokens\": Cannot find field.`)
	refuses("unknown fields",
		config(`"foo":1,"topA":2`),
		400, `Unknown name \"foo\" at 'generation_config': Cannot find field.\nInvalid JSON payload received. Unknown name \"topA\"`)
	refuses("field violations", config(`"foo":1`), 400, `"fieldViolations":[{"field":"generation_config","description":`)
	refuses("signature inside the call",
		body("", hello+`,{"role":"model","parts":[{"functionCall":{"name":"f","thoughtSignature":"x"}}]}`),
		400, `Unknown name \"thoughtSignature\" at 'contents[1].parts[0].function_call'`)
}

func TestRefusesWrongFunctions(t *testing.T) {
	refuses := flash.Refuser(t)
	refuses("additionalProperties",
		tool(`{"name":"f","parameters":{"type":"object","additionalProperties":false}}`),
		400, `Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.`)
	refuses("deep $ref",
		tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"$ref":"#/x"}}}}`),
		400, `Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value'`)
	refuses("list of types",
		tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":["string","null"]}}}}`),
		400, "Proto field is not repeating, cannot start list.")
	refuses("enum of numbers",
		tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}}`),
		400, "only allowed for STRING type")
	refuses("empty enum",
		tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string","enum":[""]}}}}`),
		400, "cannot be empty")
	refuses("two schemas", tool(`{"name":"f","parameters":{"type":"object"},"parametersJsonSchema":{}}`), 400, "only one of")
	refuses("bad name", tool(`{"name":"1f"}`), 400, "Invalid function name")
	refuses("names twice", tool(`{"name":"f"},{"name":"f"}`), 400, "Duplicate function declaration found: f")
	refuses("two tools",
		body(`,"tools":[{"functionDeclarations":[{"name":"f"}]},{"functionDeclarations":[{"name":"g"}]}]`, hello),
		400, "Multiple tools are supported only")
	refuses("ANY of nothing",
		body(`,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`, hello),
		400, "without function_declarations")
	refuses("allowed in AUTO",
		body(weather+`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["get_weather"]}}`, hello),
		400, "when mode is ANY")
	refuses("allowed unknown",
		body(weather+`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}`, hello),
		400, "not among")
	refuses("unknown mode",
		body(weather+`,"toolConfig":{"functionCallingConfig":{"mode":"any"}}`, hello),
		400, "Invalid value at 'tool_config.function_calling_config.mode'")
}

func TestRefusesWrongCallTurns(t *testing.T) {
	refuses := flash.Refuser(t)
	refuses("call unanswered",
		body("", hello+","+call+","+hello),
		400, "number of function response parts is equal")
	refuses("call at the end", body("", hello+","+call), 400, "number of function response parts is equal")
	refuses("too many responses",
		body("", hello+","+call+","+strings.Replace(response, "[", `[{"functionResponse":{"name":"f","response":{}}},`, 1)),
		400, "number of function response parts is equal")
	refuses("response alone", body("", hello+","+response), 400, "immediately after a function call turn")
	refuses("response of another",
		body("", hello+","+call+","+strings.Replace(response, `"f"`, `"g"`, 1)),
		400, "order of the function calls")
	refuses("call after the model",
		body("", hello+`,{"role":"model","parts":[{"text":"x"}]},`+call+","+response),
		400, "immediately after a user turn")
	refuses("nameless response",
		body("", hello+","+call+`,{"role":"user","parts":[{"functionResponse":{"response":{}}}]}`),
		400, "function_response.name: Name cannot be empty")
	refuses("response string",
		body("", hello+","+call+`,{"role":"user","parts":[{"functionResponse":{"name":"f","response":"x"}}]}`),
		400, "Invalid value at 'contents[2].parts[0].function_response.response'")
	refuses("call by the user",
		body("", strings.Replace(call, "model", "user", 1)+","+response),
		400, "function call turn comes immediately after")
	refuses("args string", body("", hello+`,{"role":"model","parts":[{"functionCall":{"name":"f","args":"{}"}}]}`), 400, bad)
}

func TestRefusesWrongConfig(t *testing.T) {
	refuses := flash.Refuser(t)
	refuses("too hot", config(`"temperature":2.1`), 400, "temperature must be at most 2")
	refuses("temperature string", config(`"temperature":"1"`), 400, `(TYPE_FLOAT), \"1\"`)
	refuses("huge seed", config(`"seed":9999999999`), 400, "(TYPE_INT32), 9999999999")
	refuses("six stops", config(`"stopSequences":["a","b","c","d","e","f"]`), 400, "at most 5")
	refuses("nine candidates", config(`"candidateCount":9`), 400, "candidate_count must be at most 8")
	refuses("logprobs alone", config(`"logprobs":1`), 400, "only allowed with response_logprobs")
	refuses("schema alone", config(`"responseSchema":{"type":"OBJECT"}`), 400, "only allowed with a response_mime_type")
	refuses("two response schemas",
		config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"responseJsonSchema":{}`),
		400, "only one of")
	refuses("json and functions",
		body(weather+`,"generationConfig":{"responseMimeType":"application/json"}`, hello),
		400, "Function calling with a response mime type: 'application/json' is unsupported")
	refuses("level too early", config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), 400, "Thinking level is not supported")
	refuses("level and budget", config(`"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}`), 400, "only one of thinking budget")
	refuses("big budget", config(`"thinkingConfig":{"thinkingBudget":30000}`), 400, "Please choose a value between 1 and 24576")
	refuses("unknown cache", body(`,"cachedContent":"cachedContents/x"`, hello), 403, "CachedContent not found")
}

func TestRefusesWhatTheModelDoesNotTake(t *testing.T) {
	on := func(model string) func(name, body string, status int, contains string) {
		return simulatortest.Gemini(model, "generateContent").Refuser(t)
	}
	on("claude-3")("unknown model", body("", hello), 404, "models/claude-3 is not found for API version v1beta")
	on("gemini-embedding-001")("embedding model", body("", hello), 404, "NOT_FOUND")
	on("gemini-2.5-pro")("never off", config(`"thinkingConfig":{"thinkingBudget":0}`), 400, "Budget 0 is invalid")
	on("gemini-2.5-flash-lite")("small budget", config(`"thinkingConfig":{"thinkingBudget":100}`), 400, "between 512 and 24576")
	on("gemini-2.0-flash")("thinking too early", config(`"thinkingConfig":{"includeThoughts":true}`), 400, "Thinking is not enabled")
	on("gemini-2.0-flash")("empty object", tool(`{"name":"f","parameters":{"type":"OBJECT","properties":{}}}`), 400,
		"should be non-empty for OBJECT type")
	on("gemini-3.7-flash")(
		"minimal",
		config(`"thinkingConfig":{"thinkingLevel":"MINIMAL"}`),
		400,
		"Thinking level MINIMAL is not supported",
	)
	on("gemini-4-argon")("budget too late", config(`"thinkingConfig":{"thinkingBudget":1}`), 400, "Thinking budget is not supported")
	on("gemini-2.5-flash-image")("hot pictures", config(`"temperature":1.5`), 400, "at most 1")
	on("gemini-2.5-flash-image")("long", body("", `{"role":"user","parts":[{"text":"`+strings.Repeat("w ", 40000)+`"}]}`), 400,
		"The input token count (40000) exceeds the maximum number of tokens allowed (32768).")
	on("gemma-3-27b-it")("system of gemma", body(`,"systemInstruction":{"parts":[{"text":"x"}]}`, hello), 400,
		"Developer instruction is not enabled")
}

func TestTakesWhatTheServiceTakes(t *testing.T) {
	for name, request := range map[string]string{
		"nulls":            body(`,"tools":null,"generationConfig":null`, hello),
		"two user turns":   body("", hello+","+hello),
		"no role":          body("", `{"parts":[{"text":"x"}]}`),
		"dynamic thinking": body(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`, hello),
		"safety":           body(`,"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`, hello),
		"model last":       body("", hello+`,{"role":"model","parts":[{"text":"x"},{"text":""}]}`),
	} {
		if a := flash.Post(t, request); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}
