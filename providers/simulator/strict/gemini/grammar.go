package gemini

import "modelgateway/providers/simulator/strict/grammar"

// requestGrammar is the body of generateContent and streamGenerateContent.
// Source: https://ai.google.dev/api/generate-content
var requestGrammar = grammar.Grammar{
	"request": {
		"contents": "content[] !", "systemInstruction": "content", "tools": "tool[]", "toolConfig": "toolConfig",
		"generationConfig": "config", "safetySettings": "safety[]", "cachedContent": "string", "serviceTier": "string",
		"store": "boolean", "labels": "object", "model": "string",
	},
	"content": {"role": "string", "parts": "part[]"},
	"part": {
		"text": "string", "inlineData": "blob", "fileData": "file", "functionCall": "called", "functionResponse": "response",
		"executableCode": "object", "codeExecutionResult": "object", "toolCall": "object", "toolResponse": "object",
		"thought": "boolean", "thoughtSignature": "string", "videoMetadata": "object", "mediaResolution": "any", "partMetadata": "object",
	},
	"blob":   {"mimeType": "string", "data": "string", "displayName": "string"},
	"file":   {"mimeType": "string", "fileUri": "string", "displayName": "string"},
	"called": {"id": "string", "name": "string", "args": "object"},
	"response": {
		"id":           "string",
		"name":         "string",
		"response":     "object",
		"parts":        "part[]",
		"willContinue": "boolean",
		"scheduling":   "string",
	},
	"tool": {
		"functionDeclarations": "function[]", "googleSearch": "object", "googleSearchRetrieval": "object", "urlContext": "object",
		"codeExecution": "object", "fileSearch": "object", "computerUse": "object", "googleMaps": "object",
	},
	"function": {
		"name": "string", "description": "string", "parameters": "schema", "parametersJsonSchema": "any",
		"response": "schema", "responseJsonSchema": "any", "behavior": "string",
	},
	"toolConfig": {"functionCallingConfig": "calling", "retrievalConfig": "object", "includeServerSideToolInvocations": "boolean"},
	"calling":    {"mode": "string MODE_UNSPECIFIED AUTO ANY NONE VALIDATED", "allowedFunctionNames": "string[]"},
	"config": {
		"temperature": "number 0..2", "topP": "number 0..1", "topK": "number 0..", "candidateCount": "int32 1..8",
		"maxOutputTokens": "int32 1..", "stopSequences": "string[]", "seed": "int32",
		"presencePenalty": "number -2..2", "frequencyPenalty": "number -2..2", "responseLogprobs": "boolean", "logprobs": "int32 0..20",
		"responseMimeType": "string text/plain application/json text/x.enum", "responseSchema": "schema", "responseJsonSchema": "any",
		"responseModalities": "string[] TEXT IMAGE AUDIO", "imageConfig": "object", "speechConfig": "object", "mediaResolution": "string",
		"thinkingConfig": "thinking", "enableEnhancedCivicAnswers": "boolean",
	},
	"thinking": {
		"includeThoughts": "boolean", "thinkingBudget": "int32",
		"thinkingLevel": "string THINKING_LEVEL_UNSPECIFIED MINIMAL LOW MEDIUM HIGH minimal low medium high",
	},
	"safety": {"category": "string", "threshold": "string"},
	"schema": {
		"type":   "string TYPE_UNSPECIFIED STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL string number integer boolean array object null",
		"format": "string", "title": "string", "description": "string", "nullable": "boolean", "enum": "string[]",
		"items": "schema", "minItems": "any", "maxItems": "any", "properties": "schema{}", "required": "string[]",
		"propertyOrdering": "string[]", "minProperties": "any", "maxProperties": "any", "minimum": "number", "maximum": "number",
		"minLength": "any", "maxLength": "any", "pattern": "string", "example": "any", "anyOf": "schema[]", "default": "any",
	},
}
