package responses

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
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
		if name, inside := strings.CutPrefix(path, table.Name(m)+"."); inside {
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

// Ignored names what is left out, in the order of the client's body; parts of one member
// are in alphabetical order.
func (r *Request) Ignored(lost []llm.Field) []string {
	names := body.Names{}
	maps.Copy(names, r.left)
	maps.Copy(names, r.conversation.ignored)
	for _, f := range lost {
		// Tools are strict unless the client says otherwise: then it has lost nothing.
		if !slices.Contains(caching, f) && (f != llm.FieldToolStrict || r.conversation.strict) {
			names.Put(r.Path(f, llm.Anywhere))
		}
	}
	if r.common.CacheKey != "" { // they say how the cache mark is written
		delete(names, table.Name(memberPromptCacheOptions))
	}
	r.ignoredIncludes(names)
	return names.InOrder(r.common.Raw)
}

// ignoredIncludes adds include where it asks for what only OpenAI's tools have.
func (r *Request) ignoredIncludes(names body.Names) {
	for value := range jsonbytes.Elements(r.members[memberInclude]) {
		if text := jsonbytes.Text(value); text != logprobs && text != "reasoning.encrypted_content" {
			names.Put("include")
			return
		}
	}
}

// texts are those of a prompt.
var texts = body.Texts{
	Whole: map[string]bool{"parameters": true, "output_schema": true, "action": true, "operation": true, "format": true},
	Silent: map[string]bool{
		"id": true, "call_id": true, "type": true, "status": true, "role": true, "image_url": true, "file_data": true, "file_url": true,
		"file_id": true, "input_audio": true, "detail": true, "encrypted_content": true, "result": true, "caller": true,
		"prompt_cache_breakpoint": true, "annotations": true, "logprobs": true, "execution": true, "phase": true,
	},
}

// Texts yields every text of the prompt. A schema and the action of a call are one text
// each, as they are written.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range []member{memberTools, memberInstructions, memberInput} {
			if !texts.In(r.members[m], yield) {
				return
			}
		}
	}
}
