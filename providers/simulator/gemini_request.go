package simulator

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// geminiGrammar is the request of generateContent and streamGenerateContent.
var geminiGrammar = grammar{
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
	"blob":     {"mimeType": "string", "data": "string", "displayName": "string"},
	"file":     {"mimeType": "string", "fileUri": "string", "displayName": "string"},
	"called":   {"id": "string", "name": "string", "args": "object"},
	"response": {"id": "string", "name": "string", "response": "object", "parts": "part[]", "willContinue": "boolean", "scheduling": "string"},
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

type geminiRequest struct {
	Contents          []geminiContent  `json:"contents"`
	SystemInstruction *geminiContent   `json:"systemInstruction"`
	Tools             []geminiTool     `json:"tools"`
	ToolConfig        geminiToolConfig `json:"toolConfig"`
	Config            geminiConfig     `json:"generationConfig"`
	CachedContent     string           `json:"cachedContent"`
	model             string
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string         `json:"text"`
	InlineData       *geminiMedia    `json:"inlineData"`
	FileData         *geminiMedia    `json:"fileData"`
	FunctionCall     *geminiCalled   `json:"functionCall"`
	FunctionResponse *geminiResponse `json:"functionResponse"`
	Thought          bool            `json:"thought"`
	ThoughtSignature string          `json:"thoughtSignature"`
	// Others are the kinds of part that only server tools make.
	Others map[string]jsontext.Value `json:",embed"`
}

type geminiMedia struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	FileURI  string `json:"fileUri"`
}

type geminiCalled struct {
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type geminiResponse struct {
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
}

type geminiTool struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name       string         `json:"name"`
	Parameters jsontext.Value `json:"parameters"`
	JSONSchema jsontext.Value `json:"parametersJsonSchema"`
}

type geminiToolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

type geminiConfig struct {
	Temperature    *float64        `json:"temperature"`
	CandidateCount int             `json:"candidateCount"`
	MaxTokens      int             `json:"maxOutputTokens"`
	StopSequences  []string        `json:"stopSequences"`
	Logprobs       *int            `json:"logprobs"`
	WantsLogprobs  bool            `json:"responseLogprobs"`
	MimeType       string          `json:"responseMimeType"`
	Schema         jsontext.Value  `json:"responseSchema"`
	JSONSchema     jsontext.Value  `json:"responseJsonSchema"`
	Modalities     []string        `json:"responseModalities"`
	Thinking       *geminiThinking `json:"thinkingConfig"`
}

type geminiThinking struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          *int   `json:"thinkingBudget"`
	Level           string `json:"thinkingLevel"`
}

// functions are the declarations of all tools.
func (q *geminiRequest) functions() []geminiFunction {
	var all []geminiFunction
	for _, t := range q.Tools {
		all = append(all, t.FunctionDeclarations...)
	}
	return all
}

func (f geminiFunction) schema() jsontext.Value {
	if given(f.JSONSchema) {
		return f.JSONSchema
	}
	return f.Parameters
}

// geminiGeneration is 2.5 for gemini-2.5-flash, 0 for what is not numbered so.
func geminiGeneration(id string) float64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "gemini-"), "-")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

// thinks says whether thinking was asked for. Models that think unasked do not
// do so here, so that short token limits leave room for an answer.
func (q *geminiRequest) thinks() bool {
	t := q.Config.Thinking
	if t == nil {
		return false
	}
	if t.Budget != nil {
		return *t.Budget != 0
	}
	return t.IncludeThoughts || t.Level != ""
}

// prompt reads a request that passed all checks.
func (q *geminiRequest) prompt() *prompt {
	p := &prompt{provider: "gemini", model: q.model, limit: q.Config.MaxTokens, stops: q.Config.StopSequences, parallel: true}
	p.hash("model", q.model)
	for _, f := range q.functions() {
		p.addTool(tool{name: f.Name, schema: f.schema()})
	}
	if q.SystemInstruction != nil {
		for _, part := range q.SystemInstruction.Parts {
			p.hearSystem(part.text())
		}
	}
	for _, c := range q.Contents {
		for _, part := range c.Parts {
			part.tell(p, c.Role)
		}
		p.mark(true)
	}
	calling := q.ToolConfig.Calling
	p.choice = choice{mode: map[string]choiceMode{"ANY": choiceForced, "NONE": choiceNone}[calling.Mode], names: calling.Allowed}
	p.reasons = q.thinks()
	p.asJSON = q.Config.MimeType == "application/json"
	p.schema = q.Config.JSONSchema
	if given(q.Config.Schema) {
		p.schema = q.Config.Schema
	}
	return p
}

func (part geminiPart) text() string {
	if part.Text == nil {
		return ""
	}
	return *part.Text
}

func (part geminiPart) tell(p *prompt, role string) {
	switch {
	case part.FunctionCall != nil:
		p.hearAssistant("")
		p.note("call", part.FunctionCall.Name+" "+string(part.FunctionCall.Args))
	case part.FunctionResponse != nil:
		p.hearResult(part.FunctionResponse.Name, part.FunctionResponse.text())
	case role == "model":
		p.hearAssistant(part.text())
	case part.Text != nil:
		p.hearUser(*part.Text)
	case part.InlineData != nil:
		part.InlineData.tell(p)
	case part.FileData != nil:
		part.FileData.tell(p)
	}
}

func (m geminiMedia) tell(p *prompt) {
	if strings.HasPrefix(m.MimeType, "image/") {
		p.seeImage(m.Data + m.FileURI)
		return
	}
	p.seeFile(m.Data + m.FileURI)
}

// text is what a function returned: its output or error where it says so, else
// the whole object.
func (r geminiResponse) text() string {
	for _, key := range []string{"output", "error"} {
		if v := member(r.Response, key); v != nil && len(members(r.Response)) == 1 {
			if v.Kind() == '"' {
				return text(v)
			}
			return string(v)
		}
	}
	return string(r.Response)
}
