package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// knownFields are those that have a meaning in some item.
var knownFields = map[string]bool{
	"type": true, "role": true, "content": true, "phase": true, "text": true, "refusal": true,
	"image_url": true, "file_id": true, "detail": true, "file_data": true, "file_url": true, "filename": true, "input_audio": true,
	"prompt_cache_breakpoint": true, "summary": true, "encrypted_content": true,
	"id": true, "call_id": true, "name": true, "namespace": true, "arguments": true, "input": true, "action": true, "operation": true,
	"output": true, "status": true, "execution": true, "tools": true, "result": true, "output_format": true,
	"description": true, "parameters": true, "strict": true, "format": true, "environment": true,
}

// fields reads an object once. The memory is that of the last one: an item must be read
// before the parts inside it are.
func (b *builder) fields(object jsontext.Value) jsonbytes.Fields {
	b.read = b.read.Read(object, knownFields)
	return b.read
}

// itemKind is what an item of the input is.
type itemKind int

const (
	unknownItem itemKind = iota
	messageItem
	thoughtItem
	callItem
	customCallItem
	clientCallItem // the call of a tool whose parameters OpenAI knows
	searchCallItem // the call of the client's search for tools
	resultItem
	toolsItem     // tools that join the list
	foundItem     // tools that a search has found
	hostedItem    // of a tool that ran at OpenAI
	awaitedItem   // the client's answer to such a tool, or to a tool that is not known
	imageItem     // an image that the model made
	compactedItem // a summary of the conversation before it
	triggerItem   // asks for such a summary
	updateItem    // changes the settings
	referenceItem // an item that OpenAI keeps
)

// itemKinds are the types of items (OpenAI's reference, 2026-11). compaction_summary is what
// earlier versions of Codex call a compaction.
var itemKinds = map[string]itemKind{
	"message": messageItem, "reasoning": thoughtItem, "item_reference": referenceItem,
	"function_call": callItem, "custom_tool_call": customCallItem,
	"local_shell_call": clientCallItem, "shell_call": clientCallItem, "apply_patch_call": clientCallItem,
	"function_call_output": resultItem, "custom_tool_call_output": resultItem, "local_shell_call_output": resultItem,
	"shell_call_output": resultItem, "apply_patch_call_output": resultItem,
	"tool_search_call": searchCallItem, "tool_search_output": foundItem, "additional_tools": toolsItem,
	"web_search_call": hostedItem, "file_search_call": hostedItem, "code_interpreter_call": hostedItem,
	"mcp_call": hostedItem, "mcp_list_tools": hostedItem, "mcp_approval_request": hostedItem,
	"computer_call": hostedItem, "program": hostedItem,
	"mcp_approval_response": awaitedItem, "computer_call_output": awaitedItem, "program_output": awaitedItem,
	"image_generation_call": imageItem, "compaction": compactedItem, "compaction_summary": compactedItem,
	"compaction_trigger": triggerItem, "configuration_update": updateItem,
}

func itemKindOf(name string) itemKind { return itemKinds[name] }

// toolKind is who runs a tool, and who knows its parameters.
type toolKind int

const (
	hostedTool     toolKind = iota // OpenAI; types that are not known count as such
	functionTool                   // the client, with parameters of its own
	customTool                     // the client, with a free text
	namespaceTool                  // a list of tools
	localShellTool                 // the client, with parameters that OpenAI knows
	shellTool                      // likewise
	applyPatchTool                 // likewise
	toolSearchTool                 // the client or OpenAI
)

var toolKinds = map[string]toolKind{
	"function": functionTool, "custom": customTool, "namespace": namespaceTool, "local_shell": localShellTool,
	"shell": shellTool, "apply_patch": applyPatchTool, "tool_search": toolSearchTool,
}

func toolKindOf(name string) toolKind { return toolKinds[name] }

// searches says whether a tool that OpenAI runs searches the web: web_search, its preview,
// and both with a date.
func searches(name string) bool { return strings.HasPrefix(name, "web_search") }

// toolName is the rule of all providers for the names of functions.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// longestName is how many bytes the name of a function has at most.
const longestName = 64

// names of the client's tools, by what they are to the client.
type names map[calledAs]string

// function is the name of the function that stands for a tool: the tool's own name, with that
// of its namespace before it. One that another tool has, or that is too long, ends in a hash
// of what the tool is to the client, so that it is the same in every turn.
func (b *builder) function(as calledAs) string {
	if name, known := b.names[as]; known {
		return name
	}
	name := as.name
	if name == "" {
		name = strings.TrimSuffix(string(as.item), "_call")
	}
	if as.namespace != "" {
		name = as.namespace + "__" + name
	}
	if _, taken := b.request.called[name]; taken || !toolName.MatchString(name) {
		name = hashed(name, as)
	}
	if b.names == nil {
		b.names, b.request.called = names{}, map[string]calledAs{}
	}
	b.names[as], b.request.called[name] = name, as
	return name
}

// hashed is the beginning of a name and a piece of the hash of a tool.
func hashed(name string, as calledAs) string {
	const digits = 8
	sum := sha256.Sum256([]byte(string(as.item) + "\x00" + as.namespace + "\x00" + as.name))
	kept := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name[:min(len(name), longestName-1-digits)])
	return kept + "_" + hex.EncodeToString(sum[:digits/2])
}
