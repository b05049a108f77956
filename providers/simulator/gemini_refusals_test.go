package simulator

import (
	"net/http"
	"strings"
	"testing"
)

func TestGeminiRefusesWhatTheServiceRefuses(t *testing.T) {
	call := `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
	response := `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
	config := func(c string) string { return geminiBody(`,"generationConfig":{`+c+`}`, hi) }
	tool := func(f string) string { return geminiBody(`,"tools":[{"functionDeclarations":[`+f+`]}]`, hi) }
	bad := `"status":"INVALID_ARGUMENT"`
	asGemini("gemini-2.5-flash", "generateContent").refuses(t, []refusalCase{
		{"not JSON", `{`, 400, bad},
		{"no contents", `{}`, 400, "GenerateContentRequest.contents: contents is not specified"},
		{"empty contents", geminiBody("", ""), 400, "contents is not specified"},
		{"empty parts", geminiBody("", `{"role":"user","parts":[]}`), 400, "contents[0].parts: contents.parts must not be empty"},
		{"empty text", geminiBody("", `{"role":"user","parts":[{"text":""}]}`), 400, "must not be empty"},
		{"empty part", geminiBody("", `{"role":"model","parts":[{}]}`), 400, "begin with a user turn"},
		{"part of nothing", geminiBody("", `{"role":"user","parts":[{}]}`), 400, "must have one initialized field"},
		{"part of two", geminiBody("", `{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AA=="}}]}`), 400, "oneof"},
		{"unknown role", geminiBody("", `{"role":"assistant","parts":[{"text":"x"}]}`), 400, "Please use a valid role: user, model."},
		{"not base64", geminiBody("", `{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"data:x"}}]}`), 400, "Base64 decoding failed"},
		{"unknown field", geminiBody(`,"max_tokens":5`, hi), 400, `Unknown name \"max_tokens\": Cannot find field.`},
		{"unknown fields", config(`"foo":1,"topA":2`), 400, `Unknown name \"foo\" at 'generation_config': Cannot find field.\nInvalid JSON payload received. Unknown name \"topA\"`},
		{"field violations", config(`"foo":1`), 400, `"fieldViolations":[{"field":"generation_config","description":`},
		{"signature inside the call", geminiBody("", hi+`,{"role":"model","parts":[{"functionCall":{"name":"f","thoughtSignature":"x"}}]}`), 400, `Unknown name \"thoughtSignature\" at 'contents[1].parts[0].function_call'`},
		{"additionalProperties", tool(`{"name":"f","parameters":{"type":"object","additionalProperties":false}}`), 400, `Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.`},
		{"deep $ref", tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"$ref":"#/x"}}}}`), 400, `Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value'`},
		{"list of types", tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":["string","null"]}}}}`), 400, "Proto field is not repeating, cannot start list."},
		{"enum of numbers", tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}}`), 400, "only allowed for STRING type"},
		{"empty enum", tool(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string","enum":[""]}}}}`), 400, "cannot be empty"},
		{"two schemas", tool(`{"name":"f","parameters":{"type":"object"},"parametersJsonSchema":{}}`), 400, "only one of"},
		{"bad name", tool(`{"name":"1f"}`), 400, "Invalid function name"},
		{"names twice", tool(`{"name":"f"},{"name":"f"}`), 400, "Duplicate function declaration found: f"},
		{"two tools", geminiBody(`,"tools":[{"functionDeclarations":[{"name":"f"}]},{"functionDeclarations":[{"name":"g"}]}]`, hi), 400, "Multiple tools are supported only"},
		{"ANY of nothing", geminiBody(`,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`, hi), 400, "without function_declarations"},
		{"allowed in AUTO", geminiBody(weatherGemini+`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["get_weather"]}}`, hi), 400, "when mode is ANY"},
		{"allowed unknown", geminiBody(weatherGemini+`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}`, hi), 400, "not among"},
		{"unknown mode", geminiBody(weatherGemini+`,"toolConfig":{"functionCallingConfig":{"mode":"any"}}`, hi), 400, "Invalid value at 'tool_config.function_calling_config.mode'"},
		{"call unanswered", geminiBody("", hi+","+call+","+hi), 400, "number of function response parts is equal"},
		{"call at the end", geminiBody("", hi+","+call), 400, "number of function response parts is equal"},
		{"too many responses", geminiBody("", hi+","+call+","+strings.Replace(response, "[", `[{"functionResponse":{"name":"f","response":{}}},`, 1)), 400, "number of function response parts is equal"},
		{"response alone", geminiBody("", hi+","+response), 400, "immediately after a function call turn"},
		{"response of another", geminiBody("", hi+","+call+","+strings.Replace(response, `"f"`, `"g"`, 1)), 400, "order of the function calls"},
		{"call after the model", geminiBody("", hi+`,{"role":"model","parts":[{"text":"x"}]},`+call+","+response), 400, "immediately after a user turn"},
		{"nameless response", geminiBody("", hi+","+call+`,{"role":"user","parts":[{"functionResponse":{"response":{}}}]}`), 400, "function_response.name: Name cannot be empty"},
		{"response string", geminiBody("", hi+","+call+`,{"role":"user","parts":[{"functionResponse":{"name":"f","response":"x"}}]}`), 400, "Invalid value at 'contents[2].parts[0].function_response.response'"},
		{"call by the user", geminiBody("", strings.Replace(call, "model", "user", 1)+","+response), 400, "function call turn comes immediately after"},
		{"args string", geminiBody("", hi+`,{"role":"model","parts":[{"functionCall":{"name":"f","args":"{}"}}]}`), 400, bad},
		{"too hot", config(`"temperature":2.1`), 400, "temperature must be at most 2"},
		{"temperature string", config(`"temperature":"1"`), 400, `(TYPE_FLOAT), \"1\"`},
		{"huge seed", config(`"seed":9999999999`), 400, "(TYPE_INT32), 9999999999"},
		{"six stops", config(`"stopSequences":["a","b","c","d","e","f"]`), 400, "at most 5"},
		{"nine candidates", config(`"candidateCount":9`), 400, "candidate_count must be at most 8"},
		{"logprobs alone", config(`"logprobs":1`), 400, "only allowed with response_logprobs"},
		{"schema alone", config(`"responseSchema":{"type":"OBJECT"}`), 400, "only allowed with a response_mime_type"},
		{"two response schemas", config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"responseJsonSchema":{}`), 400, "only one of"},
		{"json and functions", geminiBody(weatherGemini+`,"generationConfig":{"responseMimeType":"application/json"}`, hi), 400, "Function calling with a response mime type: 'application/json' is unsupported"},
		{"level too early", config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), 400, "Thinking level is not supported"},
		{"level and budget", config(`"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}`), 400, "only one of thinking budget"},
		{"big budget", config(`"thinkingConfig":{"thinkingBudget":30000}`), 400, "Please choose a value between 1 and 24576"},
		{"unknown cache", geminiBody(`,"cachedContent":"cachedContents/x"`, hi), 403, "CachedContent not found"},
	})
	for model, cases := range map[string][]refusalCase{
		"claude-3":               {{"unknown model", geminiBody("", hi), 404, "models/claude-3 is not found for API version v1beta"}},
		"gemini-embedding-001":   {{"embedding model", geminiBody("", hi), 404, "NOT_FOUND"}},
		"gemini-2.5-pro":         {{"never off", config(`"thinkingConfig":{"thinkingBudget":0}`), 400, "Budget 0 is invalid"}},
		"gemini-2.5-flash-lite":  {{"small budget", config(`"thinkingConfig":{"thinkingBudget":100}`), 400, "between 512 and 24576"}},
		"gemini-2.0-flash":       {{"thinking too early", config(`"thinkingConfig":{"includeThoughts":true}`), 400, "Thinking is not enabled"}, {"empty object", tool(`{"name":"f","parameters":{"type":"OBJECT","properties":{}}}`), 400, "should be non-empty for OBJECT type"}},
		"gemini-3.7-flash":       {{"minimal", config(`"thinkingConfig":{"thinkingLevel":"MINIMAL"}`), 400, "Thinking level MINIMAL is not supported"}},
		"gemini-4-argon":         {{"budget too late", config(`"thinkingConfig":{"thinkingBudget":1}`), 400, "Thinking budget is not supported"}},
		"gemini-2.5-flash-image": {{"hot pictures", config(`"temperature":1.5`), 400, "at most 1"}, {"long", geminiBody("", `{"role":"user","parts":[{"text":"`+strings.Repeat("w ", 40000)+`"}]}`), 400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."}},
		"gemma-3-27b-it":         {{"system of gemma", geminiBody(`,"systemInstruction":{"parts":[{"text":"x"}]}`, hi), 400, "Developer instruction is not enabled"}},
	} {
		asGemini(model, "generateContent").refuses(t, cases)
	}
}

func TestGeminiTakesWhatTheServiceTakes(t *testing.T) {
	for name, body := range map[string]string{
		"nulls":            geminiBody(`,"tools":null,"generationConfig":null`, hi),
		"two user turns":   geminiBody("", hi+","+hi),
		"no role":          geminiBody("", `{"parts":[{"text":"x"}]}`),
		"dynamic thinking": geminiBody(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`, hi),
		"safety":           geminiBody(`,"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`, hi),
		"model last":       geminiBody("", hi+`,{"role":"model","parts":[{"text":"x"},{"text":""}]}`),
	} {
		if a := asGemini("gemini-2.5-flash", "generateContent").send(t, serve(t, Options{}), http.MethodPost, body); a.status != 200 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}
