package anthropic

import (
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of POST /v1/messages, without tools, output_config and
// stream, which body adds.
type request struct {
	Model     string    `json:"model"`
	MaxTokens int64     `json:"max_tokens"`
	System    any       `json:"system,omitzero"` // string or []block
	Messages  []message `json:"messages"`
	options
}

// options is a request without its model, its limit and its prompt.
type options struct {
	ToolChoice    *toolChoice    `json:"tool_choice,omitzero"`
	Thinking      *thinking      `json:"thinking,omitzero"`
	Temperature   *float64       `json:"temperature,omitzero"`
	TopP          *float64       `json:"top_p,omitzero"`
	TopK          *int64         `json:"top_k,omitzero"`
	StopSequences []string       `json:"stop_sequences,omitempty"`
	Metadata      *metadata      `json:"metadata,omitzero"`
	ServiceTier   string         `json:"service_tier,omitempty"`
	CacheControl  jsontext.Value `json:"cache_control,omitzero"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a content block of a request: one of text, image, document,
// tool_use, tool_result, thinking and redacted_thinking.
type block struct {
	Type         string         `json:"type"`
	Text         string         `json:"text,omitempty"`
	Source       *source        `json:"source,omitzero"`
	Title        string         `json:"title,omitempty"`
	ID           string         `json:"id,omitempty"`
	Name         string         `json:"name,omitempty"`
	Input        jsontext.Value `json:"input,omitzero"`
	ToolUseID    string         `json:"tool_use_id,omitempty"`
	Content      any            `json:"content,omitzero"`  // string or []block
	IsError      bool           `json:"is_error,omitzero"` // of a tool's result
	Thinking     *string        `json:"thinking,omitzero"` // sent also where it is empty
	Signature    string         `json:"signature,omitempty"`
	Data         string         `json:"data,omitempty"`
	CacheControl jsontext.Value `json:"cache_control,omitzero"`
}

// source holds an image or a document, or says where it is.
type source struct {
	Type      string `json:"type"` // base64, url or text
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type tool struct {
	name         string
	description  string
	schema       jsontext.Value
	strict       bool
	cacheControl jsontext.Value
}

type toolChoice struct {
	Type    string `json:"type"` // auto, any, tool or none
	Name    string `json:"name,omitempty"`
	OnlyOne bool   `json:"disable_parallel_tool_use,omitzero"`
}

// forces says whether the model must call a tool.
func (c *toolChoice) forces() bool { return c != nil && (c.Type == "any" || c.Type == "tool") }

type thinking struct {
	Type         string `json:"type"` // enabled, adaptive or disabled
	BudgetTokens int64  `json:"budget_tokens,omitzero"`
	Display      string `json:"display,omitempty"` // summarized or omitted
}

type metadata struct {
	UserID string `json:"user_id"`
}

// The types of events.
const (
	typeMessage      = "message"
	typeMessageStart = "message_start"
	typeBlockStart   = "content_block_start"
	typeBlockDelta   = "content_block_delta"
	typeBlockStop    = "content_block_stop"
	typeMessageDelta = "message_delta"
	typeMessageStop  = "message_stop"
	typeError        = "error"
)

// event is any event of a stream; which members it has follows from its type.
type event struct {
	Type    string        `json:"type"`
	Index   int           `json:"index"`
	Delta   delta         `json:"delta"`
	Block   answerBlock   `json:"content_block"`
	Message answerMessage `json:"message"`
	Usage   *usage        `json:"usage"`
	Error   problem       `json:"error"`
}

// answerMessage is the message of message_start, or a whole one. Some proxies put a whole
// message into message_start.
type answerMessage struct {
	ID      string           `json:"id"`
	Model   string           `json:"model"`
	Content []jsontext.Value `json:"content"`
	Usage   usage            `json:"usage"`
	ending

	blocks []answerBlock // Content, decoded
}

// ending says why a message ended.
type ending struct {
	StopReason   string `json:"stop_reason"`
	StopSequence word   `json:"stop_sequence"` // that matched
	StopDetails  raw    `json:"stop_details"`  // of a refusal
}

// delta is what content_block_delta adds to a block, or what message_delta
// says of the message.
type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	Citation    raw    `json:"citation"`
	ending
}

// answerBlock is a content block of an answer, of the types that have a place
// in the common form.
type answerBlock struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
	Citations raw            `json:"citations"`
}

// wholeMessage is an answer that is not a stream, or an error under 200.
type wholeMessage struct {
	Type  string  `json:"type"`
	Error problem `json:"error"`
	answerMessage
}

// usage is the tokens of an answer. Decoding over an earlier one replaces only
// what is given: the counts of a stream are cumulative, and no event has all of
// them.
type usage struct {
	Input      count `json:"input_tokens"` // without cached ones
	CacheWrite count `json:"cache_creation_input_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	Creation   struct {
		Hour count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"` // parts of CacheWrite
	Output  count `json:"output_tokens"` // with thinking
	Details struct {
		Thinking count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServiceTier word `json:"service_tier"`
	Speed       word `json:"speed"`
	Geo         word `json:"inference_geo"`
	ServerTools struct {
		Searches count `json:"web_search_requests"`
		Code     count `json:"code_execution_requests"` // charged by the time of their container; a fetch of a page costs its tokens only
	} `json:"server_tool_use"`
}

// word is a text. A value that is none is left out.
type word string

// UnmarshalJSONFrom leaves the word as it is when the value is no text.
func (w *word) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != jsontext.KindString {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err == nil {
		*w = word(token.String())
	}
	return err
}

// raw is a value in the upstream's JSON; nil for null.
type raw jsontext.Value

// UnmarshalJSONFrom keeps the value.
func (r *raw) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == jsontext.KindNull {
		return dec.SkipValue()
	}
	value, err := dec.ReadValue()
	*r = raw(value.Clone())
	return err
}

// count is a number of tokens. A value that cannot be one counts as 0.
type count struct {
	n     int64
	given bool
}

// maxCount is more tokens than any answer has.
const maxCount = 1 << 40

// UnmarshalJSONFrom leaves the count as it is when the value is null.
func (c *count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != jsontext.KindNumber {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*c = count{given: true}
	if f, err := token.Float(); err == nil && f > 0 && f < maxCount {
		c.n = int64(math.Trunc(f))
	}
	return nil
}
