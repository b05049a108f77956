package main

import (
	"slices"
	"strings"

	"modelgateway/tools/rig"
)

// The models that the shapes ask for, one for each translation of a provider.
var everyModel = []string{rig.OpenAIModel, rig.AnthropicModel, rig.GeminiModel}

// shape is one form of a request that can be made of any size.
type shape struct {
	name   string
	models []string
	body   func(model string, size int) string
}

// The paths of the dialects.
const (
	chatPath      = "/v1/chat/completions"
	messagesPath  = "/v1/messages"
	responsesPath = "/v1/responses"
)

// What the names of the shapes of other dialects begin with.
const (
	ofMessages  = "Messages: "  // Anthropic's Messages API
	ofResponses = "Responses: " // OpenAI's Responses API
)

// path is where a shape is sent.
func (s shape) path() string {
	switch {
	case strings.HasPrefix(s.name, ofMessages):
		return messagesPath
	case strings.HasPrefix(s.name, ofResponses):
		return responsesPath
	}
	return chatPath
}

// everyShape is those of all dialects.
func everyShape() []shape { return slices.Concat(shapes, messagesShapes, responsesShapes) }

// shapes has every list and map of the API, and what else a body can be made of.
var shapes = []shape{
	{"one long text", everyModel, message(filled("a"))},
	{"a text of escapes that become one byte", everyModel, message(filled(`\n`))},
	{"a text of escapes that stay escapes", everyModel, message(filled(`\u0001`))},
	{"a text of letters in three bytes", everyModel, message(filled("語"))},
	{"a system text of escapes", everyModel, inMessage(`"role":"system","content":"`, filled(`\t`), `"`)},

	{"empty messages", everyModel[:1], top(`"messages":[`, repeated(`{}`), `]`)},
	{"more messages than allowed", everyModel, top(`"messages":[`, repeated(`{"role":"user","content":"a"}`), `]`)},
	{"10,000 messages", everyModel, top(`"messages":[`, spread(10_000, `{"role":"user","content":"`, "a", `"}`), `]`)},
	{"10,000 messages, roles in turn", everyModel,
		top(`"messages":[`, spread(5_000, `{"role":"user","content":"`, "a", `"},{"role":"assistant","content":"b"}`), `]`)},
	{"10,000 instructions", everyModel,
		top(`"messages":[{"role":"user","content":"a"},`, spread(9_999, `{"role":"system","content":"`, "a", `"}`), `]`)},

	{"parts: empty", everyModel[:1], inMessage(`"role":"user","content":[`, repeated(`{}`), `]`)},
	{"parts: more than allowed", everyModel, inMessage(`"role":"user","content":[`, repeated(`{"type":"text","text":"a"}`), `]`)},
	{"parts: 1,000 of each message", everyModel,
		messages(`{"role":"user","content":[`, 1000, `{"type":"text","text":"a"}`, `]}`)},
	{"parts: 1,000 long ones", everyModel, inMessage(`"role":"user","content":[`, spread(1000, `{"type":"text","text":"`, "a", `"}`), `]`)},
	{"parts: images", everyModel,
		messages(`{"role":"user","content":[`, 1000, `{"type":"image_url","image_url":{"url":"https://a"}}`, `]}`)},
	{"parts: one image in base64", everyModel, inMessage(
		`"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA`, filled("AAAA"), `"}}]`)},
	{"parts: one text file in base64", everyModel[1:], inMessage(
		`"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,`, filled("YWFh"), `"}}]`)},
	{"parts: one percent-encoded file", everyModel[1:], inMessage(
		`"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain,`, filled("%61"), `"}}]`)},
	{"parts: audio", everyModel[2:], inMessage(
		`"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"`, filled("AAAA"), `"}}]`)},

	{"tools: empty", everyModel[:1], tools(`"tools":[`, repeated(`{}`), `]`)},
	{"tools: more than allowed", everyModel,
		tools(`"tools":[`, repeated(`{"type":"function","function":{"name":"f"}}`), `]`)},
	{"tools: 1,024", everyModel, tools(`"tools":[`,
		spread(1024, `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{}}},"description":"`, "a", `"}}`), `]`)},
	{"functions: more than allowed", everyModel, tools(`"functions":[`, repeated(`{"name":"f"}`), `]`)},
	{"functions: 1,024", everyModel, tools(`"functions":[`, spread(1024, `{"name":"f","description":"`, "a", `"}`), `]`)},
	{"tool_choice: allowed tools", everyModel,
		tools(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[`,
			repeated(`{"type":"function","function":{"name":"f"}}`), `]}}`)},
	{"tool_choice: nested", everyModel[:1], tools(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[`,
		repeated(`{"allowed_tools":{"tools":[{},{},{},{},{},{},{},{}]}}`), `]}}`)},

	{"calls: more than allowed", everyModel, inMessage(`"role":"assistant","tool_calls":[`, repeated(`{"id":"a","function":{"name":"f"}}`), `]`)},
	{"calls: 1,000 of each message, with results", everyModel, callsWithResults},
	{"calls: arguments of many members", everyModel, arguments(`{\"%s\":0`, `,\"%s\":0`, `}`)},
	{"calls: arguments of many elements", everyModel, arguments(`{\"a\":[0`, `,0`, `]}`)},
	{"calls: arguments of many objects", everyModel, arguments(`{\"a\":[{}`, `,{}`, `]}`)},
	{"calls: arguments that are no JSON", everyModel, arguments(`\"`, `\"`, ``)},
	{"calls: an id with many details", everyModel, packedID},
	{"results: an object of many members", everyModel, result(`{\"%s\":0`, `,\"%s\":0`, `}`)},
	{"results: a text of escapes", everyModel, result(``, `\n`, ``)},
	{"results: 1,000 parts", everyModel, resultParts},

	{"images: empty", everyModel, assistant(`"content":"a","images":[`, 1000, `{}`)},
	{"images: of the model", everyModel, assistant(`"content":"a","images":[`, 1000, `{"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`)},
	{"reasoning_details: empty", everyModel, assistant(`"content":"a","reasoning_details":[`, 1000, `{}`)},
	{"reasoning_details: signed", everyModel, assistant(`"content":"a","reasoning_details":[`, 1000,
		`{"type":"reasoning.encrypted","format":"anthropic-claude-v1","data":"a","index":1}`)},
	{"reasoning_details: fragments of one", everyModel, assistant(`"content":"a","reasoning_details":[`, 1000,
		`{"type":"reasoning.text","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`)},
	{"reasoning_details: 1,000 long fragments of one", everyModel, inMessage(`"role":"assistant","content":"a","reasoning_details":[`,
		spread(1000, `{"type":"reasoning.text","text":"`, "a", `"}`), `]`)},

	{"stop: many", everyModel, tools(`"stop":[`, repeated(`""`), `]`)},
	{"modalities: many", everyModel, tools(`"modalities":[`, repeated(`"text"`), `]`)},
	{"metadata: many", everyModel, tools(`"metadata":{`, named(`"%s":""`), `}`)},
	{"metadata: long", everyModel, tools(`"metadata":{"a":"`, filled("a"), `"}`)},
	{"logit_bias: many", everyModel, tools(`"logit_bias":{`, named(`"%s":0`), `}`)},
	{"audio: many members", everyModel[:1], tools(`"audio":{`, named(`"%s":0`), `}`)},
	{"stream_options: many members", everyModel, tools(`"stream_options":{`, named(`"%s":0`), `}`)},
	{"user: a text of escapes", everyModel, tools(`"user":"`, filled(`\n`), `"`)},
	{"model: a long name", everyModel[:1], func(_ string, size int) string {
		return `{"model":"` + strings.Repeat("a", size-48) + `","messages":[]}`
	}},

	{"unknown: many members", everyModel, tools(``, named(`"%s":0`), ``)},
	{"unknown: many members with escapes in their names", everyModel, tools(``, named(`"\u0061%s":0`), ``)},
	{"unknown: a long name", everyModel, tools(`"`, filled("a"), `":1`)},
	{"unknown: a long name of escapes", everyModel, tools(`"`, filled(`\u00e9`), `":1`)},
	{"unknown: a long text", everyModel, tools(`"a":"`, filled("a"), `"`)},
	{"unknown: many elements", everyModel, tools(`"a":[`, repeated(`0`), `]`)},
	{"unknown: many objects", everyModel, tools(`"a":[`, repeated(`{}`), `]`)},
	{"unknown: an object of many members", everyModel, tools(`"a":{`, named(`"%s":0`), `}`)},
	{"unknown: one name twice", everyModel, tools(`"b":0,`, repeated(`"a":0`), ``)},
	{"unknown: many members of a message", everyModel, inMessage(`"role":"user","content":"a",`, named(`"%s":1`), ``)},
	{"unknown: many members of a part", everyModel, inMessage(`"role":"user","content":[{"type":"text","text":"a",`, named(`"%s":1`), `}]`)},
	{"unknown: 100 members of each message", everyModel, messages(`{"role":"user","content":"a"`, 100, `"%s":1`, `}`)},
	{"unknown: many members of a tool", everyModel, tools(`"tools":[{"type":"function","function":{"name":"f"},`, named(`"%s":1`), `}]`)},

	{"schemas: many properties", withGemma, schema(`"type":"object","properties":{`, named(`"%s":{"type":"string"}`), `}`)},
	{"schemas: many empty properties", withGemma, schema(`"type":"object","properties":{`, named(`"%s":{}`), `}`)},
	{"schemas: many keywords", withGemma, schema(`"type":"object","properties":{"a":{}},`, named(`"%s":0`), ``)},
	{"schemas: a long enum", withGemma, schema(`"type":"object","properties":{"a":{"type":"string","enum":[`, named(`"%s"`), `]}}`)},
	{"schemas: many alternatives", withGemma, schema(`"anyOf":[`, repeated(`{"type":"string"}`), `]`)},
	{"schemas: many required", withGemma, schema(`"type":"object","properties":{"a":{}},"required":[`, named(`"%s"`), `]`)},
	{"schemas: many of allOf", withGemma, schema(`"type":"object","allOf":[`, named(`{"properties":{"%s":{}}}`), `]`)},
	{"schemas: many references", withGemma,
		schema(`"$defs":{"a":{"type":"string"}},"type":"object","properties":{`, named(`"%s":{"$ref":"#/$defs/a"}`), `}`)},
	{"schemas: deep ones", withGemma, schema(`"type":"object","properties":{`, deepSchemas, `}`)},
	{"schemas: one long description", withGemma, schema(`"type":"object","properties":{"a":{}},"description":"`, filled(`\n`), `"`)},
	{"response_format: many properties", withGemma, format(`"type":"object","properties":{`, named(`"%s":{"type":"string","minLength":3}`), `}`)},
	{"response_format: many rules", withGemma, format(`"type":"object","properties":{"a":{}},`, named(`"%s":0`), ``)},
	{"response_format: many alternatives", withGemma, format(`"type":"object","properties":{"a":{"oneOf":[`, repeated(`{"minimum":1}`), `]}}`)},
	{"response_format: deep ones", withGemma, format(`"type":"object","properties":{`, deepSchemas, `}`)},

	{"nested 100 deep, many times", everyModel, tools(`"a":[`, repeated(strings.Repeat("[", 90)+strings.Repeat("]", 90)), `]`)},
	{"nested as deep as the body is long", everyModel[:1], func(_ string, size int) string { return strings.Repeat("[", size) }},
	{"white space", everyModel, tools(`"a":1`, filled(" "), ``)},
	{"no end", everyModel, func(model string, size int) string {
		return strings.TrimSuffix(message(filled("a"))(model, size), `"}]}`)
	}},
}

var withGemma = append(everyModel[:3:3], rig.GemmaModel)
