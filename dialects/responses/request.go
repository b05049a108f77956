package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// Request is a request as it came, and llm.Source for it. It is read only.
type Request struct {
	common   llm.Request
	endpoint Endpoint

	members [memberCount]jsontext.Value // parts of the body, each as the client wrote it
	lossy   bool                        // there are members that the common form cannot hold, or not all of
	prompt  outlined
	called  map[string]calledAs // by the name of the function that the model calls
	summary bool                // the answer is a summary that replaces the conversation

	conversation conversation
}

// Endpoint is what a request asks for.
type Endpoint string

// The endpoints, by their paths at OpenAI.
const (
	Create  Endpoint = "/v1/responses"
	Compact Endpoint = "/v1/responses/compact"
	Count   Endpoint = "/v1/responses/input_tokens"
)

// Dialect is llm.Responses.
func (r *Request) Dialect() llm.Dialect { return llm.Responses }

// Endpoint is the path of what the request asks for.
func (r *Request) Endpoint() string { return string(r.endpoint) }

// itemType is the type of an item by which the client runs a tool.
type itemType string

// The types of such items.
const (
	functionCall   itemType = "function_call"
	customCall     itemType = "custom_tool_call"
	localShellCall itemType = "local_shell_call"
	shellCall      itemType = "shell_call"
	applyPatchCall itemType = "apply_patch_call"
	toolSearchCall itemType = "tool_search_call"
)

// calledAs is how the client knows a function: the other providers have only functions,
// without namespaces, so that every tool becomes one with a name of its own.
type calledAs struct {
	item      itemType
	namespace string // of a function or a custom tool; empty = none
	name      string // empty for items that have no name
}

// as is how the client knows a function that the model calls. A name that the request does
// not have is that of a plain function.
func (r *Request) as(name string) calledAs {
	if known, ok := r.called[name]; ok {
		return known
	}
	return calledAs{item: functionCall, name: name}
}

// member is one of the members of a request that have a meaning here.
type member int

// The members, in the order of OpenAI's reference.
const (
	memberModel member = iota
	memberInput
	memberInstructions
	memberBackground
	memberContextManagement
	memberConversation
	memberInclude
	memberMaxOutputTokens
	memberMaxToolCalls
	memberMetadata
	memberModeration
	memberParallelToolCalls
	memberPreviousResponseID
	memberPrompt
	memberPromptCacheKey
	memberPromptCacheOptions
	memberPromptCacheRetention
	memberReasoning
	memberSafetyIdentifier
	memberServiceTier
	memberStore
	memberStream
	memberStreamOptions
	memberTemperature
	memberText
	memberToolChoice
	memberTools
	memberTopLogprobs
	memberTopP
	memberTruncation
	memberUser
	memberClientMetadata
	memberAccessPrograms
	memberCount
)

var memberNames = [memberCount]string{
	"model", "input", "instructions", "background", "context_management", "conversation", "include", "max_output_tokens",
	"max_tool_calls", "metadata", "moderation", "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key",
	"prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream",
	"stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
	"client_metadata", "access_programs",
}

// memberByName is the reverse of memberNames.
var memberByName = scan.Numbers[member](memberNames[:])
