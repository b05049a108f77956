package chat

import (
	"bytes"
	"encoding/base64"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
	"modelgateway/llm"
)

var _ llm.Source = (*Request)(nil)

// Dialect is llm.Chat.
func (r *Request) Dialect() llm.Dialect { return llm.Chat }

// paths are the names of the fields; # is the index of an element, @ that of
// its part.
var paths = map[llm.Field]string{
	llm.FieldModel: "model", llm.FieldMessages: "messages",
	llm.FieldMaxOutput: "max_completion_tokens", llm.FieldTemperature: "temperature", llm.FieldTopP: "top_p", llm.FieldTopK: "top_k",
	llm.FieldFrequencyPenalty: "frequency_penalty", llm.FieldPresencePenalty: "presence_penalty",
	llm.FieldSeed: "seed", llm.FieldStop: "stop", llm.FieldChoices: "n", llm.FieldLogitBias: "logit_bias",
	llm.FieldLogprobs: "logprobs", llm.FieldTopLogprobs: "top_logprobs",
	llm.FieldEffort: "reasoning_effort", llm.FieldThinking: "thinking", llm.FieldThinkingBudget: "thinking.budget_tokens",
	llm.FieldUser: "user", llm.FieldSafetyIdentifier: "safety_identifier", llm.FieldMetadata: "metadata",
	llm.FieldServiceTier: "service_tier", llm.FieldModalities: "modalities", llm.FieldAudio: "audio",
	llm.FieldWebSearch: "web_search_options", llm.FieldCache: "cache_control", llm.FieldParallelCalls: "parallel_tool_calls",

	llm.FieldTool: "tools[#]", llm.FieldToolType: "tools[#].type", llm.FieldToolStrict: "tools[#].function.strict",
	llm.FieldToolParameters: "tools[#].function.parameters", llm.FieldToolCache: "tools[#].cache_control",
	llm.FieldToolChoice: "tool_choice",
	llm.FieldFormat:     "response_format", llm.FieldFormatSchema: "response_format.json_schema.schema",
	llm.FieldFormatDescription: "response_format.json_schema.description",

	llm.FieldMessage: "messages[#]", llm.FieldMessageName: "messages[#].name", llm.FieldMessageAudio: "messages[#].audio",
	llm.FieldMessageImages: "messages[#].images", llm.FieldMessageCache: "messages[#].cache_control",
	llm.FieldImageMade: "messages[#].images[@].image_url.url", llm.FieldThought: "messages[#].reasoning_details",
	llm.FieldCallType: "messages[#].tool_calls[@].type", llm.FieldResultID: "messages[#].tool_call_id",

	llm.FieldPart: "messages[#].content[@]", llm.FieldPartType: "messages[#].content[@].type",
	llm.FieldPartCache: "messages[#].content[@].cache_control", llm.FieldCitations: "messages[#].content[@].citations",
	llm.FieldImageURL: "messages[#].content[@].image_url.url", llm.FieldImageDetail: "messages[#].content[@].image_url.detail",
	llm.FieldFile: "messages[#].content[@].file", llm.FieldFileData: "messages[#].content[@].file.file_data",
	llm.FieldFileID: "messages[#].content[@].file.file_id", llm.FieldFileName: "messages[#].content[@].file.filename",
}

// legacyPaths are the names in a request with the deprecated functions.
var legacyPaths = map[llm.Field]string{
	llm.FieldTool: "functions[#]", llm.FieldToolStrict: "functions[#].strict", llm.FieldToolParameters: "functions[#].parameters",
	llm.FieldToolChoice: "function_call",
}

// Path is the name of a field in the client's request.
func (r *Request) Path(f llm.Field, at llm.At) string {
	path := paths[f]
	if legacy, ok := legacyPaths[f]; ok && r.legacy() {
		path = legacy
	}
	if f == llm.FieldMaxOutput && r.MaxCompletionTokens == nil {
		path = "max_tokens"
	}
	if !strings.ContainsAny(path, "#@") {
		return path
	}
	return strings.NewReplacer("#", index(at.Item), "@", index(at.Part)).Replace(path)
}

func index(i int) string {
	if i < 0 {
		return ""
	}
	return strconv.Itoa(i)
}

// idle are the values by which members without a place in the common form ask for nothing.
var idle = map[string]string{"store": `false`, "verbosity": `"medium"`}

// Ignored names what is left out, in the order of the client's body; parts of
// one member are in alphabetical order.
func (r *Request) Ignored(lost []llm.Field) []string {
	names := body.Names{}
	maps.Copy(names, r.left)
	maps.Copy(names, r.conversation.ignored)
	for _, f := range lost {
		names.Put(r.Path(f, llm.Anywhere))
	}
	r.overridden(names)
	return names.InOrder(r.common.Raw)
}

// overridden adds the fields that another field of the same request overrides.
func (r *Request) overridden(names body.Names) {
	if r.MaxCompletionTokens != nil && r.MaxTokens != nil && *r.MaxCompletionTokens != *r.MaxTokens {
		names["max_tokens"] = true
	}
	if len(r.Tools) > 0 {
		names["functions"] = names["functions"] || len(r.Functions) > 0
		names["function_call"] = names["function_call"] || r.FunctionCall != nil
	}
	if r.legacy() && r.ToolChoice != nil {
		names["tool_choice"] = true
	}
	if c := r.FunctionCall; c != nil && len(r.Functions) == 0 && c.Mode != "auto" && c.Mode != "none" {
		names["function_call"] = true
	}
	maps.DeleteFunc(names, func(_ string, lost bool) bool { return !lost })
}

// Texts yields every text of the prompt.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range r.Messages {
			if !r.Messages[i].texts(yield) {
				return
			}
		}
		for i := range r.Tools {
			if f := r.Tools[i].Function; f != nil && !f.texts(yield) || !yield(string(r.Tools[i].Custom)) {
				return
			}
		}
		for i := range r.Functions {
			if !r.Functions[i].texts(yield) {
				return
			}
		}
	}
}

func (m *Message) texts(yield func(string) bool) bool {
	if !yield(m.Role) {
		return false
	}
	if len(m.Content.Parts) == 0 && m.Content.Set && !yield(m.Content.Text()) {
		return false
	}
	for i := range m.Content.Parts {
		if p := &m.Content.Parts[i]; !yield(p.Text) || !yield(p.Refusal) {
			return false
		}
	}
	if !yield(m.Name) {
		return false
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		if c.Function != nil && (!yield(c.Function.Name) || !yield(c.Function.Arguments)) || !yield(string(c.Custom)) {
			return false
		}
	}
	f := m.FunctionCall
	return f == nil || yield(f.Name) && yield(f.Arguments)
}

func (f *Function) texts(yield func(string) bool) bool {
	return yield(f.Name) && yield(f.Description) && yield(string(f.Parameters))
}

// Size measures the prompt.
func (r *Request) Size() llm.Size {
	s := llm.Size{
		Messages: len(r.Messages), Tools: len(r.Tools) + len(r.Functions), Shaped: r.ResponseFormat != nil, Bytes: int64(len(r.common.Raw)),
	}
	s.Predicted = r.predicted
	for i := range r.Messages {
		m := &r.Messages[i]
		for j := range m.Content.Parts {
			addPart(&s, &m.Content.Parts[j])
		}
		s.Opaque = s.Opaque || llm.Given(m.Audio) // only the id of a sound that OpenAI has kept
		s.Media += len(m.Images)
		for j := range m.Images {
			s.Images = append(s.Images, m.Images[j].ImageURL.URL)
		}
	}
	s.Bytes = max(s.Bytes, 0)
	r.measureMarks(&s)
	return s
}

// measureMarks measures the prompt before its last cache mark, where it has one, as the whole.
func (r *Request) measureMarks(s *llm.Size) {
	mark := func(value jsontext.Value) {
		if llm.Given(value) {
			s.Marked = s.Bytes
			s.MarkedHour = s.MarkedHour || bytes.Contains(value, []byte(`"1h"`))
		}
	}
	mark(r.CacheControl)
	for i := range r.Messages {
		m := &r.Messages[i]
		mark(m.CacheControl)
		for j := range m.Content.Parts {
			mark(m.Content.Parts[j].CacheControl)
		}
	}
	for i := range r.Tools {
		mark(r.Tools[i].CacheControl)
	}
}

func addPart(s *llm.Size, p *ContentPart) {
	switch {
	case p.ImageURL != nil:
		s.Media++
		s.Images = append(s.Images, p.ImageURL.URL)
		s.Bytes -= int64(len(p.ImageURL.URL))
	case p.InputAudio != nil: // about 32 tokens a second, of at least 256 bytes
		s.Media++
		s.Sounds++
		s.Opaque = s.Opaque || !hasUsualRate(p.InputAudio.Data)
		s.Bytes -= int64(len(p.InputAudio.Data) - base64.StdEncoding.DecodedLen(len(p.InputAudio.Data))/8)
	case p.File != nil:
		s.Media++
		s.Opaque = true
		scheme := p.File.FileData[:min(len("data:audio/"), len(p.File.FileData))]
		if strings.EqualFold(scheme, "data:audio/") || strings.EqualFold(scheme, "data:video/") {
			s.Sounds++
		}
	case p.Type != "text" && p.Type != "refusal":
		s.Opaque = true
	}
}
