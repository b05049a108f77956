// Package llm is the common form of a request to a language model and of its
// answer. It belongs to no dialect of the clients and to no provider: a dialect
// has one reader and one writer for it, a provider one translation.
package llm

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Dialect names the wire format that a client speaks.
type Dialect string

// The dialects.
const (
	Chat       Dialect = "chat"       // OpenAI's chat completions API
	Messages   Dialect = "messages"   // Anthropic's Messages API
	Responses  Dialect = "responses"  // OpenAI's Responses API
	Embeddings Dialect = "embeddings" // OpenAI's embeddings API
)

// Beside is what came with a body and travels with it to a provider that speaks the
// client's dialect. Other providers never see it.
type Beside struct {
	Headers []Header
	Query   string // encoded, without a question mark
}

// Prompt has the parts of a prompt as they are written in a body. What there is none of is nil.
type Prompt struct {
	Tools, System []byte
	Messages      [][]byte // also what a dialect calls input or contents
}

// Header is one line of a header, whose name is in its canonical form.
type Header struct{ Name, Value string }

// Request is one request, checked as far as that is possible without knowing
// its provider. It is read only: several providers may translate it, also at
// the same time. What every service needs is here; what only a translation
// needs is made by Source when it is asked for.
type Request struct {
	Source Source
	Raw    []byte // the body as it came: valid JSON, each name once
	Beside Beside
	Prompt Prompt // places in Raw

	// Session is the client's name of the conversation that the request belongs to: its
	// requests go to the same upstream key, whose caches know the prompt. Empty where the
	// client names none.
	Session string

	// CacheKey is the client's name of the prompt in the provider's caches: it chooses the
	// upstream key before Session does. Empty where the client names none.
	CacheKey string

	// Affinity is the client's name of an end user that chooses the upstream key where there is
	// no Session. Empty where the client names none, or its dialect does not go by it.
	Affinity string

	Project string // that the body says the call is for; empty = none

	// Handle makes the name under which the client knows an object that its provider keeps,
	// such as a response: only the client that was given it may use it again, and it leads to
	// the same provider and key. nil: the client gets names that cannot be used again.
	Handle func(provider, key, id string) string
	Kept   *Kept // what the request goes on from; nil = nothing
	// Compared is an earlier answer that the provider compares with this one. Its key is
	// preferred; any other one, and any other model, may answer. nil = none.
	Compared *Kept

	// Earlier is what the request says of answers before it; nil: its dialect cannot name them.
	Earlier *Earlier

	// Keep: the gateway keeps the answer and its request, unless a provider that speaks the
	// client's dialect answers: a later request may go on from it.
	Keep bool
	// Continues is the response that the gateway kept and that the request goes on from: its
	// conversation stands in the body already. Empty = none.
	Continues string

	Kind    Kind // of the model that is asked for
	Model   string
	Stream  bool
	Usage   bool   // the client asked for the usage of a stream
	Choices int64  // how many answers are wanted, at least 1
	User    string // the client's name for its end user

	MaxOutput   *int64 // tokens of one answer, reasoning included
	OutputLimit int64  // the largest of the client's limits of one answer, in tokens; 0 = none
	OutputWish  bool   // MaxOutput may be more than the model can write: it is lowered then

	Temperature      *float64
	TopP             *float64
	TopK             *int64
	FrequencyPenalty *float64
	PresencePenalty  *float64
	Seed             *int64
	Stop             []string
	LogitBias        jsontext.Value // by token id; nil where there is none
	Logprobs         bool
	TopLogprobs      *int64

	ParallelCalls *bool // false: at most one tool call in an answer
	SingleCall    bool  // an answer holds one tool call only: the first one counts
	Effort        string
	Thinking      *Thinking
	NoThoughts    bool // the client did not ask for thoughts: it is shown none

	SafetyIdentifier string
	Metadata         map[string]string
	ServiceTier      string
	Modalities       []string
	Audio            jsontext.Value // of a spoken answer, in OpenAI's form
	WebSearch        jsontext.Value // options of a search that OpenAI runs
	Cache            jsontext.Value // the cache mark of the whole request

	// What a call costs beside the usual price of its tokens.
	Speed    string // Anthropic's: a factor of the price
	Geo      string // where the model shall run, Anthropic's: a factor of the price
	Searches int64  // of the web by the provider, at most
	Unpriced string // the path of a member whose cost nothing bounds; empty = there is none
}

// Earlier is what a request says of answers before it, which it names as the client knows them.
type Earlier struct {
	Previous string // whose conversation it goes on with; empty = it has its whole conversation
	Compared string // which the provider compares with this one; empty = none
	Keeps    bool   // the client allows that the gateway keeps the answer
	Threads  bool   // the provider shall keep the conversation
	Named    bool   // a later request may name the answer to this one
}

// Turn is a request and its answer as the gateway keeps them, in the JSON of the client's
// dialect.
type Turn struct {
	ID       string   // of the answer
	Previous string   // the answer that the request went on from; empty = none
	Items    []string // ids of the items of the answer

	Input  jsontext.Value // the request's own part of the conversation
	Answer jsontext.Value
}

// Kept is an object that a provider keeps and that the client named by its handle. Only
// that provider knows it, and only with the key that made it.
type Kept struct {
	Provider string
	Key      []byte // the fingerprint of the key; see pool.Fingerprint
	ID       string // the provider's own
}

// Thinking asks for reasoning in Anthropic's words. Effort is the OpenAI way.
type Thinking struct {
	Type         string // enabled, adaptive or disabled
	BudgetTokens int64  // only with enabled
	Display      string // summarized or omitted; empty where the client does not say
}

// Source is a request as the package of its dialect has decoded it.
type Source interface {
	Dialect() Dialect

	// Conversation is the prompt in the common form. It is made at the first
	// call and kept; its error is an *api.Error that names the field at fault.
	Conversation() (*Conversation, error)

	// Path is the name of a field in the client's own words, as in
	// messages[3].content[1].image_url.url. Where at is Anywhere it names every
	// such field, as in messages[].content[].image_url.url.
	Path(f Field, at At) string

	// Ignored names what a provider leaves out, in the client's own words and
	// in the order of its body: the fields lost, each once, and the members
	// that the common form does not know.
	Ignored(lost []Field) []string

	// Texts yields every text of the prompt, its roles and names included.
	Texts() iter.Seq[string]

	// Size measures the prompt without reading it again.
	Size() Size

	// Foreign is the path of a member that may choose what answers or what it costs,
	// because the dialect does not know it; empty if there is none.
	Foreign() string
	// Chooses is Foreign for a call to the dialect's vendor, who refuses members that it does
	// not know: the path of one that is known to let another model than the one asked for
	// answer.
	Chooses() string
}

// Size is what a prompt consists of.
type Size struct {
	Messages int
	Tools    int  // functions included
	Shaped   bool // the answer has to follow a format, which can become a tool

	Bytes  int64    // of the body, of a sound an eighth, without the addresses of images
	Media  int      // images, sounds and files
	Sounds int      // also files that are sounds or films
	Images []string // the addresses of the images, which may be data URLs
	Opaque bool     // holds what its bytes do not bound, such as files
	Hosted bool     // a provider that speaks the dialect adds to it: what its own tools find, or what it has kept

	Marked     int64 // bytes before the last cache mark: a provider may write them to its cache
	MarkedHour bool  // a mark asks for an hour, else all ask for five minutes

	Predicted int64 // bytes of the predicted answer: what is rejected of it is charged as output
}

// Path is the name of a field in the client's own words, wherever it stands.
func (r *Request) Path(f Field) string { return r.Source.Path(f, Anywhere) }

// Field is a part of a request, independent of its name in a dialect.
type Field int

// The fields that a provider may refuse or leave out.
const (
	FieldModel Field = iota
	FieldMessages
	FieldMaxOutput
	FieldTemperature
	FieldTopP
	FieldTopK
	FieldFrequencyPenalty
	FieldPresencePenalty
	FieldSeed
	FieldStop
	FieldChoices
	FieldLogitBias
	FieldLogprobs
	FieldTopLogprobs
	FieldEffort
	FieldThinking
	FieldThinkingBudget
	FieldUser
	FieldSafetyIdentifier
	FieldMetadata
	FieldServiceTier
	FieldModalities
	FieldAudio
	FieldWebSearch
	FieldCache
	FieldParallelCalls

	FieldTool           // one tool
	FieldToolType       //
	FieldToolStrict     //
	FieldToolParameters //
	FieldToolCache      //
	FieldToolChoice     //

	FieldFormat            // of the answer
	FieldFormatSchema      //
	FieldFormatDescription //

	FieldMessage       // one message
	FieldMessageName   //
	FieldMessageAudio  // a sound that the provider made in an earlier turn
	FieldMessageImages // images that a model made in an earlier turn
	FieldMessageCache  //
	FieldThought       // reasoning of an earlier turn
	FieldImageMade     // the address of an image that a model made
	FieldCallType      // the type of a tool call
	FieldResultID      // the id of the call that a result answers

	FieldPart        // one part of a message's content
	FieldPartType    //
	FieldPartCache   //
	FieldCitations   // the request to cite a document
	FieldImageURL    //
	FieldImageDetail //
	FieldFile        //
	FieldFileData    //
	FieldFileID      //
	FieldFileName    //
)

// At is a place in the conversation: the index of a message, tool or other
// element in the client's own list, and of a part inside it. -1 is no such
// index.
type At struct{ Item, Part int }

// Anywhere is for fields whose place does not matter.
var Anywhere = At{-1, -1}

// Item is the place of an element that has no parts.
func Item(i int) At { return At{i, -1} }
