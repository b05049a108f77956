package llm

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Stream yields the events of one answer. For each choice EventBegin comes
// first and EventFinish last; EventUsage comes after all of them. It ends
// without an error only when the upstream said that the answer was whole; an
// error is the last thing it yields. Leaving the loop ends the upstream call.
//
// An event is valid until the loop goes on. A nil event without an error is a
// pause: the next event has to be waited for, so that what has come should
// reach the client now. A Stream can be ranged over once, and must be, even if
// only to leave at once: that closes the connection.
type Stream = iter.Seq2[*Event, error]

// EventKind says what an Event adds.
type EventKind int

// The kinds of events.
const (
	EventBegin     EventKind = iota // a choice begins
	EventText                       // Text
	EventRefusal                    // Text of a refusal
	EventThought                    // Text to be shown, Thought to be brought back; either may be missing
	EventMedia                      // Media
	EventCall                       // Call and CallIndex: a tool call begins; Arguments may hold its first fragment, or all
	EventInput                      // CallIndex, and Text: a fragment of the call's arguments
	EventCitations                  // Citations of text that has come; they may be kept
	EventFinish                     // Ending
	EventUsage                      // Usage of the whole answer
	EventAnswer                     // Answer, or of a provider Raw: a whole answer, or a piece of it; Usage if it reported that
	EventOther                      // Raw: something that only its dialect knows
)

// Event is one step of an answer. Providers reuse the event they yield.
type Event struct {
	Kind   EventKind
	Head   *Head // of the answer, the same for all events of a stream
	Choice int
	Block  int // grows by one with each block of a choice

	Text      string
	Thought   *Thought
	Media     *Media
	Call      *CallStart
	CallIndex int            // dense from 0 for each choice
	Logprobs  jsontext.Value // of the tokens of Text, of whichever kind it is, in OpenAI's form
	Citations []Citation

	Ending
	Usage  *Usage
	Answer *Answer // whole: it is the only event of its stream

	// Raw is the event in the form of RawDialect, set by a provider that speaks
	// the client's dialect: a writer forwards these bytes, and the members above
	// are only for metering. Of Chat it is the event's JSON, empty where the event
	// is not shown; of Messages and Responses all of its lines with the empty line after them.
	Raw        []byte
	RawDialect Dialect
}

// CallStart begins a tool call.
type CallStart struct {
	ID        string
	Name      string
	Namespace string // of the function, where the client has one
	Kind      ToolKind
	Arguments string // the first fragment, or all of them; of a custom tool its input

	Signature string   // Gemini's, as it came; empty where there is none
	Thought   *Thought // that must come back with the call; nil where there is none
}

// Head is what all events of an answer share. A provider may fill in the
// service tier after the answer has begun.
type Head struct {
	ID          string // the upstream's; empty where it has none
	Model       string // that answers
	Created     int64  // Unix seconds
	ServiceTier string
	Fingerprint string // of the system, or of a simulator
	Images      int64  // of an answer whose events have Raw: as many as have come
	Length      int64  // bytes of an answer that comes in pieces; 0 = unknown, or it comes whole

	// Counter is the usage that the upstream has reported so far; nil if it
	// reports usage only at the end.
	Counter UsageCounter
}

// UsageCounter is the usage that the upstream of a stream has reported so far, for
// streams that break off before their usage. A count that is not reported yet is
// 0; nil means that none is. It may be called while the stream is ranged over, and
// after that.
type UsageCounter interface{ Counted() *Usage }

// Finishing is a UsageCounter that can say that its upstream has ended the answer and
// that only the usage is missing.
type Finishing interface{ Finishing() bool }

// Finish says why a choice ended, in OpenAI's words. Other words come from
// servers that copy OpenAI's API.
type Finish string

// Ending says why a choice ended, and what its provider says about that.
type Ending struct {
	Finish       Finish
	NativeReason string         // the provider's own word for Finish
	StopSequence string         // that ended the answer, where the provider says it
	StopDetails  jsontext.Value // why a model refused, in the provider's JSON
	Safety       jsontext.Value // ratings of the answer or the prompt, in the provider's JSON
}

// Citation is a source of a piece of an answer's text. Start and End are the piece in the
// text of its choice, in characters; both are 0 where that is not known.
type Citation struct {
	Start, End int

	URL    string // empty for a source without an address, such as a document of the prompt
	Title  string
	Quote  string         // what the source says
	Native jsontext.Value // of a document: its place there, in the provider's JSON
}

// The reasons that every provider has.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishToolCalls     Finish = "tool_calls"
	FinishContentFilter Finish = "content_filter"
)

// Usage counts tokens. Input includes cached ones, Output includes reasoning.
type Usage struct {
	Input, Output, Total int64

	HasCache       bool  // the provider counts the following three
	Cached         int64 // of Input: read from a cache
	CacheWrite     int64 // of Input: written to a cache
	CacheWriteHour int64 // of CacheWrite: kept for an hour, which costs more

	HasAudio    bool  // the provider counts the following two
	Audio       int64 // of Input: sounds
	CachedAudio int64 // of Audio: read from a cache

	HasReasoning bool  // the provider counts the following
	Reasoning    int64 // of Output

	// What the price depends on beside tokens, where the provider tells it.
	Tier     string // service tier, in OpenAI's words
	Speed    string // Anthropic's
	Geo      string // where Anthropic has inferred
	Searches int64  // of the web, by the provider
	Tools    int64  // other uses of the provider's tools that have a fee, which no list of prices has
}

// Counts says whether a usage has the tokens of the prompt: some compatible servers
// report only zeros.
func (u *Usage) Counts() bool { return u != nil && u.Input > 0 }
