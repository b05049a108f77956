package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
)

// Request has the members of a generateContent request that the answer depends
// on.
type Request struct {
	// Model is that of the path.
	Model             string     `json:"-"`
	Contents          []Content  `json:"contents"`
	SystemInstruction *Content   `json:"systemInstruction"`
	Tools             []Tool     `json:"tools"`
	ToolConfig        ToolConfig `json:"toolConfig"`
	Config            Config     `json:"generationConfig"`
}

// Content is a message.
type Content struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a part of a message, of any kind.
type Part struct {
	Text             *string           `json:"text"`
	InlineData       *Media            `json:"inlineData"`
	FileData         *Media            `json:"fileData"`
	FunctionCall     *FunctionCall     `json:"functionCall"`
	FunctionResponse *FunctionResponse `json:"functionResponse"`
	ThoughtSignature string            `json:"thoughtSignature"`
	// Others are kinds that the simulated models do not generate.
	Others map[string]jsontext.Value `json:",embed"`
}

// Media is an image, a sound or a file.
type Media struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
	FileURI  string `json:"fileUri"`
}

// FunctionCall is a call that the model made.
type FunctionCall struct {
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// FunctionResponse is what a function returned.
type FunctionResponse struct {
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []Part         `json:"parts"` // images and files of the result
}

// Tool is a list of functions.
type Tool struct {
	FunctionDeclarations []Function `json:"functionDeclarations"`
}

// Function is one that may be called, with a schema in either of two ways.
type Function struct {
	Name       string         `json:"name"`
	Parameters jsontext.Value `json:"parameters"`
	JSONSchema jsontext.Value `json:"parametersJsonSchema"`
}

// ToolConfig says whether functions are called.
type ToolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

// Config says how to generate an answer.
type Config struct {
	CandidateCount int            `json:"candidateCount"`
	MaxTokens      int            `json:"maxOutputTokens"`
	StopSequences  []string       `json:"stopSequences"`
	WantsLogprobs  bool           `json:"responseLogprobs"`
	MIMEType       string         `json:"responseMimeType"`
	Schema         jsontext.Value `json:"responseSchema"`
	JSONSchema     jsontext.Value `json:"responseJsonSchema"`
	Modalities     []string       `json:"responseModalities"`
	Thinking       *Thinking      `json:"thinkingConfig"`
}

// Thinking asks for thoughts.
type Thinking struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          *int   `json:"thinkingBudget"`
	Level           string `json:"thinkingLevel"`
}

// Functions are the declarations of all tools.
func (q *Request) Functions() []Function {
	var all []Function
	for _, t := range q.Tools {
		all = append(all, t.FunctionDeclarations...)
	}
	return all
}

// Generation is 2.5 for gemini-2.5-flash, and 0 for what is not numbered so.
func Generation(model string) float64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(model, "gemini-"), "-")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

func (q *Request) candidates() int {
	const most = 8
	return min(max(q.Config.CandidateCount, 1), most)
}

// MakesImages reports whether an image comes with the text.
func (q *Request) MakesImages() bool {
	return strings.Contains(q.Model, "-image") || slices.Contains(q.Config.Modalities, "IMAGE")
}

// thinks reports whether thinking was requested. Models that think without a
// request do not do so here, so that short token limits leave tokens for an
// answer.
func (q *Request) thinks() bool {
	t := q.Config.Thinking
	if t == nil {
		return false
	}
	if t.Budget != nil {
		return *t.Budget != 0
	}
	return t.IncludeThoughts || t.Level != ""
}

func (q *Request) showsThoughts() bool {
	return q.Config.Thinking != nil && q.Config.Thinking.IncludeThoughts
}

var choiceModes = map[string]reply.ChoiceMode{"ANY": reply.ChoiceForced, "NONE": reply.ChoiceNone}

// Prompt reads the conversation and the options of the answer.
func (q *Request) Prompt() *reply.Prompt {
	p := reply.New(Name, q.Model)
	p.MaxTokens, p.Stops = q.Config.MaxTokens, q.Config.StopSequences
	for _, f := range q.Functions() {
		schema := f.Parameters
		if llm.Given(f.JSONSchema) {
			schema = f.JSONSchema
		}
		p.AddTool(reply.Tool{Name: f.Name, Schema: schema})
	}
	if q.SystemInstruction != nil {
		for _, part := range q.SystemInstruction.Parts {
			p.AddSystem(part.text())
		}
	}
	for _, c := range q.Contents {
		for _, part := range c.Parts {
			part.addTo(p, c.Role)
		}
		p.EndPrefix(true)
	}
	calling := q.ToolConfig.Calling
	p.Choice = reply.ToolChoice{Mode: choiceModes[calling.Mode], Names: calling.Allowed}
	p.Reasons = q.thinks()
	p.JSON = q.Config.MIMEType == "application/json"
	p.Schema = q.Config.JSONSchema
	if llm.Given(q.Config.Schema) {
		p.Schema = q.Config.Schema
	}
	return p
}

func (part Part) text() string {
	if part.Text == nil {
		return ""
	}
	return *part.Text
}

func (part Part) addTo(p *reply.Prompt, role string) {
	switch {
	case part.FunctionCall != nil:
		p.AddCall(part.FunctionCall.Name, string(part.FunctionCall.Args))
	case part.FunctionResponse != nil:
		p.AddResult(part.FunctionResponse.Name, part.FunctionResponse.text())
		for _, inner := range part.FunctionResponse.Parts {
			inner.addTo(p, role)
		}
	case role == "model":
		p.AddAssistant(part.text())
	case part.Text != nil:
		p.AddUser(*part.Text)
	case part.InlineData != nil:
		part.InlineData.addTo(p)
	case part.FileData != nil:
		part.FileData.addTo(p)
	}
}

func (m Media) addTo(p *reply.Prompt) {
	if strings.HasPrefix(m.MIMEType, "image/") {
		p.AddImage(m.Data + m.FileURI)
		return
	}
	p.AddFile(m.Data + m.FileURI)
}

// text is what a function returned: its output or error where that is all there
// is, else the whole object.
func (r FunctionResponse) text() string {
	for _, key := range []string{"output", "error"} {
		if v := jsonbytes.Member(r.Response, key); v != nil && len(rawjson.Members(r.Response)) == 1 {
			if v.Kind() == '"' {
				return jsonbytes.Text(v)
			}
			return string(v)
		}
	}
	return string(r.Response)
}
