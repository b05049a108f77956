package responses

import "strings"

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
