package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// Request is a request as it came, and llm.Source for it. It is read only.
type Request struct {
	common   llm.Request
	counting bool // it asks for the size of its prompt only

	members [memberCount]jsontext.Value // parts of the body
	lossy   bool                        // there are members that the common form cannot hold, or not all of
	turn    jsontext.Value              // output_config of the last message that has one
	size    llm.Size
	blocks  int // of all messages

	conversation conversation
}

var _ llm.Source = (*Request)(nil)

// Dialect is llm.Messages.
func (r *Request) Dialect() llm.Dialect { return llm.Messages }

// Size measures the prompt. It was measured while the body was read.
func (r *Request) Size() llm.Size { return r.size }

// member is one of the members of a request that have a meaning here.
type member int

// The members, in the order of Anthropic's reference.
const (
	memberModel member = iota
	memberMaxTokens
	memberMessages
	memberSystem
	memberCacheControl
	memberContainer
	memberContextManagement
	memberInferenceGeo
	memberMCPServers
	memberMetadata
	memberOutputConfig
	memberOutputFormat
	memberServiceTier
	memberStopSequences
	memberStream
	memberTemperature
	memberThinking
	memberToolChoice
	memberTools
	memberTopK
	memberTopP
	memberSpeed
	memberFallbacks
	memberFallbackCreditToken
	memberDiagnostics
	memberThread
	memberCount
)

var memberNames = [memberCount]string{
	"model", "max_tokens", "messages", "system", "cache_control", "container", "context_management", "inference_geo", "mcp_servers",
	"metadata", "output_config", "output_format", "service_tier", "stop_sequences", "stream", "temperature", "thinking", "tool_choice",
	"tools", "top_k", "top_p", "speed", "fallbacks", "fallback_credit_token", "diagnostics",
	"thread",
}

// memberByName is the reverse of memberNames.
var memberByName = scan.Numbers[member](memberNames[:])

// blockFields are those that have a meaning in some block.
var blockFields = map[string]bool{
	"type": true, "text": true, "id": true, "name": true, "input": true, "tool_use_id": true, "content": true, "is_error": true,
	"source": true, "title": true, "context": true, "citations": true, "cache_control": true,
	"thinking": true, "signature": true, "data": true, "tool_name": true,
}

// fields reads an object once. The memory is that of the last one: a block must be read
// before the blocks inside it are.
func (b *builder) fields(object jsontext.Value) scan.Fields {
	b.object = object
	b.read = b.read.Read(object, blockFields)
	return b.read
}
