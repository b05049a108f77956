package llm

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Conversation is a prompt: what was said, and what the model may call.
type Conversation struct {
	Messages []Message
	Tools    []Tool
	Choice   *ToolChoice // nil leaves it to the provider
	Format   *Format     // of the answer; nil for text
}

// Role says who speaks.
type Role int

// The roles. Instructions stand where the client put them.
const (
	RoleUser Role = iota // also brings the results of tools
	RoleAssistant
	RoleInstructions
)

// Message is what one message of the client says.
type Message struct {
	Role   Role
	Blocks []Block // in their order
	At     At      // of the message in the client's list

	// Cache is the cache mark of the whole message. Its last block has the very
	// same value where it has no mark of its own.
	Cache jsontext.Value

	// InPlace says that instructions stay where they are. Where a provider takes
	// instructions only before the conversation, they become text of the user's turn:
	// in front they would change the prompt that its caches know.
	InPlace bool
}

// BlockKind says which member of a Block is set.
type BlockKind int

// The kinds of blocks.
const (
	BlockText    BlockKind = iota // Text
	BlockRefusal                  // Text: what the model said in place of an answer
	BlockMedia                    // Media
	BlockCall                     // Call
	BlockResult                   // Result
	BlockThought                  // Thought
	BlockHosted                   // Hosted
)

// Block is one piece of a message.
type Block struct {
	Kind    BlockKind
	Text    string
	Media   *Media
	Call    *Call
	Result  *Result
	Thought *Thought

	// Hosted is what a tool that ran at the provider left in the conversation,
	// in the JSON of the client's dialect.
	Hosted jsontext.Value

	Phase       string         // of an assistant's text, where OpenAI gave one
	Annotations jsontext.Value // citations of a text, in the dialect's JSON
	Cache       jsontext.Value // the client's cache mark, in Anthropic's JSON
	At          At
}

// MediaKind says what a Media is.
type MediaKind int

// The kinds of media.
const (
	Image MediaKind = iota
	Audio
	File
	SearchResult
)

// Media is an image, a sound, a document or a search result.
type Media struct {
	Kind MediaKind

	URL    string // of an image or a file: a web address or a data URL
	Data   string // of a sound, or of a file that came without a data URL: base64
	Format string // of a sound: wav or mp3; of a file by its address, and in an answer, also another media type
	Detail string // of an image: how closely to look; empty leaves it to the provider
	Made   bool   // a model made it in an earlier turn

	FileID    string // of a file that the provider has stored
	Name      string // of a file
	Title     string // of a document or a search result
	Context   string // what a document is about
	Text      string // of a document or a search result in plain text
	Citations bool   // the answer shall cite it
}

// AsText is what a model made for a client API that has no form for it: a link in Markdown, or a line that
// names what was left out, since a client would show its base64.
func (m *Media) AsText() string {
	kind, mediaType, data := "file", m.Format, m.Data
	switch m.Kind {
	case Image:
		kind = "image"
	case Audio:
		kind = "audio"
	}
	if head, encoded, ok := strings.Cut(m.URL, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		mediaType, data = strings.TrimPrefix(head, "data:"), encoded
	} else if m.URL != "" && kind == "image" {
		return "![image](" + m.URL + ")"
	} else if m.URL != "" {
		return "[" + kind + "](" + m.URL + ")"
	}
	if mediaType != "" {
		mediaType += ", "
	}
	return fmt.Sprintf("[%s left out: %s%d KB, for which this API has no form]", kind, mediaType, (len(data)*3/4+1023)/1024)
}

// Call is a tool call that the model made.
type Call struct {
	ID        string // the provider's own; in an answer it may be empty
	ClientID  string // as the client knows it, in a request
	Name      string
	Namespace string         // of the function, where the client has one
	Arguments jsontext.Value // in a request: always an object
	Input     string         // of a custom tool; in an answer the arguments as the model wrote them
	Kind      ToolKind

	// Signature is what Gemini wants back with the call: as it came in an answer,
	// as the client brought it in a request.
	Signature string
}

// Result answers a Call.
type Result struct {
	ID       string // the provider's own
	ClientID string // as the client knows it; empty where the function's name is all it gives
	Name     string // of the function, where the client says it
	Content  []Block
	IsError  bool
}

// ThoughtKind says what a Thought holds.
type ThoughtKind int

// The kinds of thoughts.
const (
	ThoughtText      ThoughtKind = iota // Text, with a Signature once it is whole
	ThoughtSummary                      // Text
	ThoughtEncrypted                    // Data
)

// ThoughtFormat says who can read a thought: a provider writes its own format and takes no
// other back. Those without a constant are the names of providers that have no format which
// clients know.
type ThoughtFormat string

// The formats that clients know, by the names that reasoning_details have for them.
const (
	FormatAnthropic ThoughtFormat = "anthropic-claude-v1" // of Anthropic's Messages API
	FormatGemini    ThoughtFormat = "google-gemini-v1"    // of providers/gemini: a signature and its model
	FormatOpenAI    ThoughtFormat = "openai-responses-v1" // of OpenAI's Responses API
	FormatConverse  ThoughtFormat = "bedrock-converse-v1" // of Amazon Bedrock's Converse API
)

// Public is the format where clients know it; else it is empty.
func (f ThoughtFormat) Public() ThoughtFormat {
	switch f {
	case FormatAnthropic, FormatGemini, FormatOpenAI, FormatConverse:
		return f
	}
	return ""
}

// SignsThoughts says whether each thought has a signature of its own: without it a text is
// not taken back, and encrypted data never completes a text before it.
func (f ThoughtFormat) SignsThoughts() bool { return f == FormatAnthropic }

// SignsCalls says whether a signature belongs to what follows the thought, such as a call,
// and is not needed where it stands on a text.
func (f ThoughtFormat) SignsCalls() bool { return f == FormatGemini }

// Thought is one block of a model's reasoning, with what its provider needs to
// take it back unchanged in the next turn.
type Thought struct {
	Kind      ThoughtKind
	Text      string
	Signature string
	Data      string
	Format    ThoughtFormat // empty where it is not known who can read it
	Model     string        // that made it; empty where any model of the provider may read it
	ItemID    string        // the provider's own id of the block
	CallID    string        // the Call it belongs to, by the provider's id
	Index     int           // of the block among the thoughts of its message

	// WithCalls says that the provider refuses the tool calls after it when
	// they come back without it.
	WithCalls bool
}

// ToolKind says how a tool is called.
type ToolKind int

// The kinds of tools. The model runs none of them.
const (
	ToolFunction ToolKind = iota // with a JSON object
	ToolCustom                   // with free text
	ToolClient                   // as the provider's own type of tool says, such as a shell
)

// Tool is something the model may call. Parameters is JSON Schema, carried byte
// for byte: re-ordered keys break the providers' prompt caches.
type Tool struct {
	Kind        ToolKind
	Type        string // in the client's words
	Name        string
	Namespace   string
	Description string
	Parameters  jsontext.Value // nil for a function without parameters
	Strict      *bool
	Custom      jsontext.Value // of a tool with free text: name, description and format, in the form of OpenAI's chat completions
	Cache       jsontext.Value
	At          At
}

// ChoiceMode says what a ToolChoice asks for.
type ChoiceMode int

// The modes of a ToolChoice.
const (
	ChooseAuto     ChoiceMode = iota
	ChooseNone                // no tool
	ChooseRequired            // some tool
	ChooseNamed               // the function Name
	ChooseCustom              // the custom tool Name
	ChooseAllowed             // among the functions Allowed
)

// ToolChoice says which tools the model may or must call.
type ToolChoice struct {
	Mode    ChoiceMode
	Name    string
	Allowed []string // names of functions
	Require bool     // with ChooseAllowed: one of them must be called
}

// Format asks for JSON, of a given schema where there is one.
type Format struct {
	Schema      jsontext.Value // nil for any JSON object
	Name        string         // of the schema
	Description string
	Strict      *bool
}

// Given says whether an optional JSON member was there: an explicit null is as
// if it was not.
func Given(value jsontext.Value) bool { return len(value) > 0 && value.Kind() != jsontext.KindNull }

// Present is an optional JSON member, nil where it is absent or null.
func Present(value jsontext.Value) jsontext.Value {
	if !Given(value) {
		return nil
	}
	return value
}
