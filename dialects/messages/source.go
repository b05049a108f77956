package messages

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// paths are the names of the fields; # is the index of an element, @ is the path of a
// block.
var paths = map[llm.Field]string{
	llm.FieldModel: "model", llm.FieldMessages: "messages",
	llm.FieldMaxOutput: "max_tokens", llm.FieldTemperature: "temperature", llm.FieldTopP: "top_p", llm.FieldTopK: "top_k",
	llm.FieldStop: "stop_sequences", llm.FieldEffort: "output_config.effort",
	llm.FieldThinking: "thinking", llm.FieldThinkingBudget: "thinking.budget_tokens",
	llm.FieldUser: "metadata.user_id", llm.FieldSafetyIdentifier: "metadata.user_id", llm.FieldMetadata: "metadata",
	llm.FieldServiceTier: "service_tier", llm.FieldCache: "cache_control",
	llm.FieldParallelCalls: "tool_choice.disable_parallel_tool_use", llm.FieldWebSearch: "tools",

	llm.FieldTool: "tools[#]", llm.FieldToolType: "tools[#].type", llm.FieldToolStrict: "tools[#].strict",
	llm.FieldToolParameters: "tools[#].input_schema", llm.FieldToolCache: "tools[#].cache_control", llm.FieldToolChoice: "tool_choice",

	llm.FieldFormat: "output_config.format", llm.FieldFormatSchema: "output_config.format.schema",

	llm.FieldMessage: "messages[#]", llm.FieldMessageCache: "@.cache_control", llm.FieldThought: "@.thinking",
	llm.FieldCallType: "@.type", llm.FieldResultID: "@.tool_use_id",

	llm.FieldPart: "@", llm.FieldPartType: "@.type", llm.FieldPartCache: "@.cache_control", llm.FieldCitations: "@.citations",
	llm.FieldImageURL: "@.source", llm.FieldFile: "@.source", llm.FieldFileData: "@.source", llm.FieldFileID: "@.source.file_id",
	llm.FieldFileName: "@.title",
}

// Path is the name of a field in the client's request. Fields that the dialect does not
// have are never set, and have no name.
func (r *Request) Path(f llm.Field, at llm.At) string {
	path := paths[f]
	switch {
	case f == llm.FieldEffort && r.turn != nil && llm.Given(jsonbytes.Member(r.turn, "effort")):
		path = "messages[].output_config.effort"
	case f == llm.FieldFormat && llm.Given(r.members[memberOutputFormat]):
		path = "output_format"
	case f == llm.FieldFormatSchema && llm.Given(r.members[memberOutputFormat]):
		path = "output_format.schema"
	}
	if path == "messages[#]" {
		return place{item: at.Item}.message()
	}
	if rest, isBlock := strings.CutPrefix(path, "@"); isBlock {
		return placeOf(at).path() + rest
	}
	return strings.Replace(path, "#", index(at.Item), 1)
}

// caching are the fields by which a client marks what a provider shall cache. Other
// providers than Anthropic cache without being asked, so that nothing is lost.
var caching = []llm.Field{llm.FieldCache, llm.FieldMessageCache, llm.FieldPartCache, llm.FieldToolCache}

// Ignored names what is left out, in the order of the client's body; parts of one member
// are in alphabetical order.
func (r *Request) Ignored(lost []llm.Field) []string {
	names := body.Names{}
	maps.Copy(names, r.left)
	maps.Copy(names, r.conversation.ignored)
	for _, f := range lost {
		if !slices.Contains(caching, f) {
			names.Put(r.Path(f, llm.Anywhere))
		}
	}
	return names.InOrder(r.common.Raw)
}

// texts are those of a prompt. A document's data may be its text.
var texts = body.Texts{
	Whole: map[string]bool{"input_schema": true, "input": true},
	Silent: map[string]bool{
		"data": true, "signature": true, "id": true, "tool_use_id": true, "type": true, "cache_control": true, "media_type": true,
		"url": true, "encrypted_content": true, "encrypted_index": true, "file_id": true, "caller": true,
	},
	Data: "data",
}

// Texts yields every text of the prompt. A schema and the input of a call are one text
// each, as they are written.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range []member{memberTools, memberSystem, memberMessages} {
			if !texts.In(r.members[m], yield) {
				return
			}
		}
	}
}
