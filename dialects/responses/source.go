package responses

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

var _ llm.Source = (*Request)(nil)

// paths are the names of the fields; # is the path of a tool, @ that of a part of the
// input.
var paths = map[llm.Field]string{
	llm.FieldModel: "model", llm.FieldMessages: "input",
	llm.FieldMaxOutput: "max_output_tokens", llm.FieldTemperature: "temperature", llm.FieldTopP: "top_p",
	llm.FieldLogprobs: "include", llm.FieldTopLogprobs: "top_logprobs", llm.FieldEffort: "reasoning.effort",
	llm.FieldUser: "user", llm.FieldSafetyIdentifier: "safety_identifier", llm.FieldMetadata: "metadata",
	llm.FieldServiceTier: "service_tier", llm.FieldCache: "prompt_cache_key", llm.FieldParallelCalls: "parallel_tool_calls",
	llm.FieldWebSearch: "tools",

	llm.FieldTool: "#", llm.FieldToolType: "#.type", llm.FieldToolStrict: "#.strict",
	llm.FieldToolParameters: "#.parameters", llm.FieldToolChoice: "tool_choice",

	llm.FieldFormat: "text.format", llm.FieldFormatSchema: "text.format.schema", llm.FieldFormatDescription: "text.format.description",

	llm.FieldMessage: "@", llm.FieldThought: "@", llm.FieldMessageImages: "@.result", llm.FieldImageMade: "@.result",
	llm.FieldCallType: "@.type", llm.FieldResultID: "@.call_id",

	llm.FieldPart: "@", llm.FieldPartType: "@.type", llm.FieldPartCache: "@.prompt_cache_breakpoint",
	llm.FieldMessageCache: "@.prompt_cache_breakpoint",
	llm.FieldImageURL:     "@.image_url", llm.FieldImageDetail: "@.detail",
	llm.FieldFile: "@", llm.FieldFileData: "@.file_data", llm.FieldFileID: "@.file_id", llm.FieldFileName: "@.filename",
}

// ofItems are the fields that items have, not their parts.
var ofItems = []llm.Field{
	llm.FieldMessage, llm.FieldThought, llm.FieldMessageImages, llm.FieldImageMade, llm.FieldCallType, llm.FieldResultID,
}

// Path is the name of a field in the client's request. Fields that the dialect does not
// have are never set, and have no name.
func (r *Request) Path(f llm.Field, at llm.At) string {
	path := paths[f]
	switch f {
	case llm.FieldThinking, llm.FieldThinkingBudget:
		if path = "reasoning.effort"; r.common.Effort == "" {
			path = "reasoning.summary"
		}
	case llm.FieldLogprobs:
		if !r.includes(logprobs) {
			path = "top_logprobs"
		}
	}
	for _, m := range []member{memberReasoning, memberText} {
		if name, inside := strings.CutPrefix(path, memberNames[m]+"."); inside {
			first, _, _ := strings.Cut(name, ".")
			if _, changed := r.setting(m, first); changed { // by an item
				path = "input[]." + path
			}
		}
	}
	if rest, isTool := strings.CutPrefix(path, "#"); isTool {
		if tools := r.conversation.tools; at.Item >= 0 && at.Item < len(tools) {
			return tools[at.Item].path() + rest
		}
		return toolPath(-1, -1, -1) + rest
	}
	if rest, isPart := strings.CutPrefix(path, "@"); isPart {
		if at == llm.Anywhere && slices.Contains(ofItems, f) {
			return "input[]" + rest
		}
		return placeOf(at).path() + rest
	}
	return path
}

// caching are the fields by which a client marks what a provider shall cache. Other
// providers cache without being asked, so that nothing is lost.
var caching = []llm.Field{llm.FieldCache, llm.FieldMessageCache, llm.FieldPartCache, llm.FieldToolCache}

// read are the members that have a place in the common form, or none that is lost: what an
// answer repeats, what concerns storage and caches of OpenAI's, and what is for its own
// servers only.
var read = [memberCount]bool{
	memberModel: true, memberInput: true, memberInstructions: true, memberBackground: true, memberConversation: true,
	memberMaxOutputTokens: true, memberMetadata: true, memberParallelToolCalls: true, memberPreviousResponseID: true,
	memberPrompt: true, memberPromptCacheKey: true, memberPromptCacheRetention: true,
	memberReasoning: true, memberSafetyIdentifier: true, memberServiceTier: true, memberStore: true, memberStream: true,
	memberStreamOptions: true, memberTemperature: true, memberText: true, memberToolChoice: true, memberTools: true,
	memberTopLogprobs: true, memberTopP: true, memberUser: true, memberClientMetadata: true, memberInclude: true,
}

// idle are the values by which other members ask for nothing.
var idle = [memberCount]string{memberTruncation: `"disabled"`}

// inner are the members of objects that have a place in the common form.
var inner = [memberCount][]string{
	memberReasoning: {"effort", "summary", "generate_summary"},
	memberText:      {"format"},
}

// Ignored names what is left out, in the order of the client's body; parts of one member
// are in alphabetical order.
func (r *Request) Ignored(lost []llm.Field) []string {
	if !r.lossy && len(lost) == 0 && len(r.conversation.ignored) == 0 && r.members[memberInclude] == nil {
		return nil
	}
	names := map[string]bool{}
	for _, f := range lost {
		// Tools are strict unless the client says otherwise: then it has lost nothing.
		if !slices.Contains(caching, f) && (f != llm.FieldToolStrict || r.conversation.strict) {
			names[r.Path(f, llm.Anywhere)] = true
		}
	}
	maps.Copy(names, r.conversation.ignored)
	r.ignoredIncludes(names)
	return api.InOrder(r.common.Raw, names, func(name string) api.Left {
		m, known := memberByName[name]
		if !known {
			return api.Left{Whole: true}
		}
		if m == memberPromptCacheOptions && r.common.CacheKey != "" { // they say how the cache mark is written
			return api.Left{}
		}
		return api.Left{Whole: !read[m], Idle: idle[m], Known: inner[m]}
	})
}

// ignoredIncludes adds include where it asks for what only OpenAI's tools have.
func (r *Request) ignoredIncludes(names map[string]bool) {
	for value := range scan.Elements(r.members[memberInclude]) {
		if text := scan.Text(value); text != logprobs && text != "reasoning.encrypted_content" {
			names["include"] = true
			return
		}
	}
}

// silent are members of the prompt that are no text of it.
var silent = map[string]bool{
	"id": true, "call_id": true, "type": true, "status": true, "role": true, "image_url": true, "file_data": true, "file_url": true,
	"file_id": true, "input_audio": true, "detail": true, "encrypted_content": true, "result": true, "caller": true,
	"prompt_cache_breakpoint": true, "annotations": true, "logprobs": true, "execution": true, "phase": true,
}

// whole are members that are one text, as they are written.
var wholes = map[string]bool{"parameters": true, "output_schema": true, "action": true, "operation": true, "format": true}

// Texts yields every text of the prompt. A schema and the action of a call are one text
// each, as they are written.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range []member{memberTools, memberInstructions, memberInput} {
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
		for literal, inner := range scan.Members(value) {
			name := literal.String()
			switch {
			case wholes[name]:
				if !yield(string(inner)) {
					return false
				}
			case silent[name]:
			case !texts(inner, yield):
				return false
			}
		}
	}
	return true
}
