package messages

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
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
	case f == llm.FieldEffort && r.turn != nil && llm.Given(scan.Member(r.turn, "effort")):
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

// read are the members that have a place in the common form, or none that is lost.
var read = [memberCount]bool{
	memberModel: true, memberMaxTokens: true, memberMessages: true, memberSystem: true, memberCacheControl: true, memberMetadata: true,
	memberStopSequences: true, memberStream: true, memberTemperature: true, memberThinking: true, memberToolChoice: true,
	memberTools: true, memberTopK: true, memberTopP: true, memberOutputConfig: true, memberOutputFormat: true,
	memberContainer: true, memberMCPServers: true, // refused where they ask for anything
}

// idle are the values by which other members ask for nothing.
var idle = [memberCount]string{memberServiceTier: `"auto"`, memberInferenceGeo: `"global"`, memberSpeed: `"standard"`}

// inner are the members of objects that have a place in the common form.
var inner = [memberCount][]string{
	memberMetadata:     {"user_id"},
	memberThinking:     {"type", "budget_tokens", "display"},
	memberOutputConfig: {"effort", "format"},
}

// Ignored names what is left out, in the order of the client's body; parts of one member
// are in alphabetical order.
func (r *Request) Ignored(lost []llm.Field) []string {
	if !r.lossy && len(lost) == 0 && len(r.conversation.ignored) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, f := range lost {
		if !slices.Contains(caching, f) {
			names[r.Path(f, llm.Anywhere)] = true
		}
	}
	maps.Copy(names, r.conversation.ignored)
	return api.InOrder(r.common.Raw, names, func(name string) api.Left {
		m, known := memberByName[name]
		if !known {
			return api.Left{Whole: true}
		}
		return api.Left{Whole: !read[m], Idle: idle[m], Known: inner[m]}
	})
}

// silent are members of the prompt that are no text of it.
var silent = map[string]bool{
	"data": true, "signature": true, "id": true, "tool_use_id": true, "type": true, "cache_control": true, "media_type": true, "url": true,
	"encrypted_content": true, "encrypted_index": true, "file_id": true, "caller": true,
}

// Texts yields every text of the prompt. A schema and the input of a call are one text
// each, as they are written.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range []member{memberTools, memberSystem, memberMessages} {
			if !texts(r.members[m], yield) {
				return
			}
		}
	}
}

func texts(value jsontext.Value, yield func(string) bool) bool {
	switch value.Kind() {
	case jsontext.KindString:
		return yield(scan.Text(value))
	case jsontext.KindBeginArray:
		for element := range scan.Elements(value) {
			if !texts(element, yield) {
				return false
			}
		}
	case jsontext.KindBeginObject:
		plain := scan.Text(scan.Member(value, "type")) == "text" // a document's data may be its text
		for literal, inner := range scan.Members(value) {
			name := literal.String()
			switch {
			case name == "input_schema" || name == "input":
				if !yield(string(inner)) {
					return false
				}
			case silent[name] && (name != "data" || !plain):
			case !texts(inner, yield):
				return false
			}
		}
	}
	return true
}
