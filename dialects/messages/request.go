package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Request is a request as it came, and llm.Source for it. It is read only.
type Request struct {
	common   llm.Request
	counting bool // it asks for the size of its prompt only

	members [memberCount]jsontext.Value // parts of the body
	left    body.Names                  // of members that the common form cannot hold
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
	memberSafeguards
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

// table has their names, and what of them a translation leaves out.
var table = body.NewTable[member](
	body.Member{Name: "model"},
	body.Member{Name: "max_tokens"},
	body.Member{Name: "messages"},
	body.Member{Name: "system"},
	body.Member{Name: "cache_control"},
	body.Member{Name: "container"}, // refused where it asks for anything
	body.Member{Name: "context_management", Lost: true},
	body.Member{Name: "inference_geo", Lost: true, Idle: `"global"`},
	body.Member{Name: "mcp_servers"}, // refused where it asks for anything
	body.Member{Name: "safeguards"},  // likewise: without it a check would be skipped
	body.Member{Name: "metadata", Inner: []string{"user_id"}},
	body.Member{Name: "output_config", Inner: []string{"effort", "format"}},
	body.Member{Name: "output_format"},
	body.Member{Name: "service_tier", Lost: true, Idle: `"auto"`},
	body.Member{Name: "stop_sequences"},
	body.Member{Name: "stream"},
	body.Member{Name: "temperature"},
	body.Member{Name: "thinking", Inner: []string{"type", "budget_tokens", "display"}},
	body.Member{Name: "tool_choice"},
	body.Member{Name: "tools"},
	body.Member{Name: "top_k"},
	body.Member{Name: "top_p"},
	body.Member{Name: "speed", Lost: true, Idle: `"standard"`},
	body.Member{Name: "fallbacks", Lost: true},
	body.Member{Name: "fallback_credit_token", Lost: true},
	body.Member{Name: "diagnostics", Lost: true},
	body.Member{Name: "thread", Lost: true},
)

// blockFields are those that have a meaning in some block.
var blockFields = map[string]bool{
	"type": true, "text": true, "id": true, "name": true, "input": true, "tool_use_id": true, "content": true, "is_error": true,
	"source": true, "title": true, "context": true, "citations": true, "cache_control": true,
	"thinking": true, "signature": true, "data": true, "tool_name": true,
}

// fields reads an object once. The memory is that of the last one: a block must be read
// before the blocks inside it are.
func (b *builder) fields(object jsontext.Value) jsonbytes.Fields {
	b.object = object
	b.read = b.read.Read(object, blockFields)
	return b.read
}
