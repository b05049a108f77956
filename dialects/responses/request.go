package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
	"modelgateway/llm"
)

// Request is a request as it came, and llm.Source for it. It is read only.
type Request struct {
	common   llm.Request
	endpoint Endpoint

	members [memberCount]jsontext.Value // parts of the body, each as the client wrote it
	left    body.Names                  // of members that the common form cannot hold
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

// table has their names, and what of them a translation leaves out. What an answer repeats,
// what concerns storage and caches of OpenAI's, and what is for its own servers only is not lost.
var table = body.NewTable[member](
	body.Member{Name: "model"},
	body.Member{Name: "input"},
	body.Member{Name: "instructions"},
	body.Member{Name: "background"},
	body.Member{Name: "context_management", Lost: true},
	body.Member{Name: "conversation"},
	body.Member{Name: "include"},
	body.Member{Name: "max_output_tokens"},
	body.Member{Name: "max_tool_calls", Lost: true},
	body.Member{Name: "metadata"},
	body.Member{Name: "moderation", Lost: true},
	body.Member{Name: "parallel_tool_calls"},
	body.Member{Name: "previous_response_id"},
	body.Member{Name: "prompt"},
	body.Member{Name: "prompt_cache_key"},
	body.Member{Name: "prompt_cache_options", Lost: true},
	body.Member{Name: "prompt_cache_retention"},
	body.Member{Name: "reasoning", Inner: []string{"effort", "summary", "generate_summary"}},
	body.Member{Name: "safety_identifier"},
	body.Member{Name: "service_tier"},
	body.Member{Name: "store"},
	body.Member{Name: "stream"},
	body.Member{Name: "stream_options"},
	body.Member{Name: "temperature"},
	body.Member{Name: "text", Inner: []string{"format"}},
	body.Member{Name: "tool_choice"},
	body.Member{Name: "tools"},
	body.Member{Name: "top_logprobs"},
	body.Member{Name: "top_p"},
	body.Member{Name: "truncation", Lost: true, Idle: `"disabled"`},
	body.Member{Name: "user"},
	body.Member{Name: "client_metadata"},
	body.Member{Name: "access_programs", Lost: true},
)
