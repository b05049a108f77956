package chat

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/openai/wire"
)

// event is an event of a stream, or a whole answer: the choices of that have a message where
// those of an event have a delta.
type event struct {
	ID, Model, Object              string
	Created                        int64
	Choices                        []eventChoice
	Usage                          *chat.Usage
	ServiceTier, SystemFingerprint string
	Error                          *wire.Problem
	Extra                          jsontext.Value // members that only this server has

	has     members
	altered bool // something has another form in this API
}

type eventChoice struct {
	Index        int
	Delta        eventDelta
	Logprobs     jsontext.Value // of a whole answer also null
	FinishReason string
	Extra        jsontext.Value

	has members
}

type eventDelta struct {
	Role             string
	Content          *string
	Refusal          *string
	ReasoningContent string
	ReasoningDetails []chat.ReasoningDetail
	ToolCalls        []eventCall
	FunctionCall     *chat.FunctionDelta
	Images           []chat.Image
	Extra            jsontext.Value

	has members
}

type eventCall struct {
	Index        *int64              `json:"index"` // compatible servers leave it out
	ID           string              `json:"id"`
	Type         string              `json:"type"`
	Function     *chat.FunctionDelta `json:"function"`
	Custom       jsontext.Value      `json:"custom"`
	ExtraContent *chat.ExtraContent  `json:"extra_content"`
	Extra        jsontext.Value      `json:",embed"`
}

// members are those of an object that decide whether it can go on to the client as it came.
type members uint32

const (
	hasID members = 1 << iota
	hasObject
	hasCreated
	hasModel
	hasChoices
	hasError
	hasIndex
	hasDelta // or the message
	hasReason
	hasRole
	hasContent
	hasRefusal
	hasFunctionCall
	hasReasoning        // reasoning_content
	hasForeignReasoning // under the name of some compatible servers
	hasRepaired         // a member that may need repair

	// What clients rely on in every answer and every event.
	hasEnvelope = hasID | hasObject | hasCreated | hasModel | hasChoices
)

// all says whether all of some members are there.
func (m members) all(of members) bool { return m&of == of }

// any says whether one of some members is there.
func (m members) any(of members) bool { return m&of != 0 }

// prologue reports whether an event has neither choices, id, model nor usage,
// as Azure's first event: the head of all chunks is read from the next event,
// and an error may still follow.
func (e *event) prologue() bool {
	return e.ID == "" && e.Model == "" && len(e.Choices) == 0 && e.Usage == nil
}

// bare says whether a delta adds nothing to its choice.
func (d *eventDelta) bare() bool {
	return (d.Content == nil || *d.Content == "") && (d.Refusal == nil || *d.Refusal == "") && d.ReasoningContent == "" &&
		len(d.ReasoningDetails) == 0 && len(d.ToolCalls) == 0 && d.FunctionCall == nil && len(d.Images) == 0 && len(d.Extra) == 0
}

// delta is what the event adds but for tool calls, in the words of the API.
func (d *eventDelta) delta() chat.Delta {
	return chat.Delta{
		Content: d.Content, Refusal: d.Refusal, ReasoningContent: d.ReasoningContent,
		ReasoningDetails: d.ReasoningDetails, FunctionCall: d.FunctionCall, Images: d.Images, Extra: d.Extra,
	}
}

var errNoObject = errors.New("the answer is no JSON object")

// reader reads the events of a stream, or a whole answer. What it reads is valid until the next
// event is read.
type reader struct {
	whole bool // a whole answer is read

	text             []byte
	event            event
	choices          [1]eventChoice // storage of event's choices
	content, padding jsonbytes.Span // places of the choice's text and of the padding
	err              error

	template template
	matched  bool // the event differs from the template in its text and padding only
	warm     bool // event has the values of the template
	cursor   jsonbytes.Cursor
	piece    string // the text of a matched event
}

// decode reads an event in which any member may come. Some compatible servers, such as
// Mistral's for models that reason, write a content as a list of parts, and others the
// arguments of a call as an object.
func (r *reader) decode(text []byte) error {
	r.cursor.Reset(text)
	object := r.cursor.Peek() == '{'
	r.cursor.Skip()
	usual := object && r.cursor.Done() // and UTF-8
	if !usual && !jsonbytes.IsObject(text) {
		return errNoObject
	}
	last := r.event
	r.text, r.err, r.content, r.padding = text, nil, jsonbytes.Span{}, jsonbytes.Span{}
	r.event = event{Choices: r.choices[:0], altered: !usual}
	e := &r.event
	for name, at := range jsonbytes.MembersAt(text, 0) {
		value := jsontext.Value(at.Of(text))
		switch string(name.Text()) {
		case "id":
			e.ID = r.word(value, last.ID)
			e.has |= hasID
		case "object":
			e.Object = r.word(value, chat.ObjectChunk)
			e.has |= hasObject
		case "created":
			e.Created = r.integer(value)
			e.has |= hasCreated
		case "model":
			e.Model = r.word(value, last.Model)
			e.has |= hasModel
		case "choices":
			r.readChoices(at)
			e.has |= hasChoices
		case "usage":
			e.Usage = r.usage(value)
		case "service_tier":
			e.ServiceTier = r.word(value, last.ServiceTier)
		case "system_fingerprint":
			e.SystemFingerprint = r.word(value, last.SystemFingerprint)
		case "error":
			r.decodeInto("error", value, &e.Error)
			e.has |= hasError
		case "obfuscation":
			r.padding = at
		default:
			e.Extra = addMember(e.Extra, name, value)
		}
	}
	return r.err
}

func (r *reader) readChoices(at jsonbytes.Span) {
	value := jsontext.Value(at.Of(r.text))
	if kind := value.Kind(); kind != jsontext.KindBeginArray && kind != jsontext.KindNull {
		r.mistyped("choices")
	}
	r.event.Choices = r.choices[:0]
	for at := range jsonbytes.ElementsAt(r.text, at.From) {
		r.event.Choices = append(r.event.Choices, eventChoice{})
		r.readChoice(&r.event.Choices[len(r.event.Choices)-1], at)
	}
}

func (r *reader) readChoice(c *eventChoice, at jsonbytes.Span) {
	message := "delta"
	if r.whole {
		message = "message"
	}
	for name, at := range r.membersOf("choices", at) {
		value := jsontext.Value(at.Of(r.text))
		switch text := name.Text(); string(text) {
		case "index":
			c.Index = int(r.integer(value))
			c.has |= hasIndex
		case "logprobs":
			if c.Logprobs = nil; r.whole || value.Kind() != jsontext.KindNull {
				c.Logprobs = value.Clone()
			}
		case "finish_reason":
			c.FinishReason = r.word(value, "stop")
			c.has |= hasReason
		case message:
			r.readDelta(&c.Delta, at)
			c.has |= hasDelta
		default:
			c.Extra = addMember(c.Extra, name, value)
		}
	}
}

func (r *reader) readDelta(d *eventDelta, at jsonbytes.Span) {
	var reasoning, thoughts string
	*d = eventDelta{}
	for name, at := range r.membersOf("message", at) {
		value := jsontext.Value(at.Of(r.text))
		switch string(name.Text()) {
		case "role":
			d.Role = r.word(value, "assistant")
			d.has |= hasRole
		case "content":
			r.content = at
			if value.Kind() == jsontext.KindBeginArray {
				r.event.altered = true
				value, thoughts = joinedParts(value)
			}
			d.Content = r.nullable("content", value)
			d.has |= hasContent
		case "refusal":
			d.Refusal = r.nullable("refusal", value)
			d.has |= hasRefusal
		case "reasoning_content":
			d.ReasoningContent = r.word(value, "")
			d.has |= hasReasoning
		case "reasoning": // some compatible servers name it so, some have both
			d.has |= hasForeignReasoning
			if kind := value.Kind(); kind == jsontext.KindString || kind == jsontext.KindNull {
				reasoning = jsonbytes.Text(value)
				break
			}
			d.Extra = addMember(d.Extra, name, value)
		case "reasoning_details":
			r.decodeInto("reasoning_details", value, &d.ReasoningDetails)
			d.has |= hasRepaired
		case "tool_calls":
			r.decodeFlat("tool_calls", value, &d.ToolCalls, func(calls jsontext.Value) jsontext.Value { return each(calls, flatCall) })
			d.has |= hasRepaired
		case "function_call":
			r.decodeFlat("function_call", value, &d.FunctionCall, flatFunction)
			d.has |= hasFunctionCall
		case "images":
			r.decodeInto("images", value, &d.Images)
			d.has |= hasRepaired
		default:
			d.Extra = addMember(d.Extra, name, value)
		}
	}
	if d.ReasoningContent == "" {
		d.ReasoningContent = reasoning
	}
	if thoughts != "" {
		d.ReasoningContent = thoughts
	}
}

// membersOf are the members of an object; null has none.
func (r *reader) membersOf(name string, at jsonbytes.Span) iter.Seq2[jsonbytes.Name, jsonbytes.Span] {
	if kind := jsontext.Value(at.Of(r.text)).Kind(); kind != jsontext.KindBeginObject && kind != jsontext.KindNull {
		r.mistyped(name)
	}
	return jsonbytes.MembersAt(r.text, at.From)
}

// word is the text of a string, or empty for another value. The usual text is not copied.
func (r *reader) word(value jsontext.Value, usual string) string {
	if len(value) == len(usual)+len(`""`) && string(value[1:len(value)-1]) == usual && strings.IndexByte(usual, '\\') < 0 {
		return usual
	}
	if kind := value.Kind(); kind != jsontext.KindString && kind != jsontext.KindNull {
		r.event.altered = true
	}
	return jsonbytes.Text(value)
}

// nullable is a text, or nil for null.
func (r *reader) nullable(name string, value jsontext.Value) *string {
	switch value.Kind() {
	case jsontext.KindNull:
		return nil
	case jsontext.KindString:
	default:
		r.mistyped(name)
	}
	text := jsonbytes.Text(value)
	return &text
}

func (r *reader) integer(value jsontext.Value) int64 {
	n, exact := wire.IntegerOf(value)
	r.event.altered = r.event.altered || !exact || n < 0
	return n
}

func (r *reader) decodeInto(name string, value jsontext.Value, into any) {
	if err := json.Unmarshal(value, into, wire.Lenient); err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
}

// decodeFlat decodes a value, or what flat makes of one that has other types.
func (r *reader) decodeFlat(name string, value jsontext.Value, into any, flat func(jsontext.Value) jsontext.Value) {
	if json.Unmarshal(value, into, wire.Lenient) != nil {
		r.event.altered = true
		r.decodeInto(name, flat(value), into)
	}
}

func (r *reader) mistyped(name string) { r.err = fmt.Errorf("%s has another type", name) }

// usage reads a usage; nil where it has none.
func (r *reader) usage(value jsontext.Value) *chat.Usage {
	if value.Kind() != jsontext.KindBeginObject {
		return nil
	}
	u := new(chat.Usage)
	for name, value := range jsonbytes.Members(value) {
		object := value.Kind() == jsontext.KindBeginObject
		switch string(name.Text()) {
		case "prompt_tokens":
			u.PromptTokens = r.integer(value)
		case "completion_tokens":
			u.CompletionTokens = r.integer(value)
		case "total_tokens":
			u.TotalTokens = r.integer(value)
		case "prompt_tokens_details":
			if object {
				d := new(chat.PromptDetails)
				d.Extra = r.counts(value, count{"cached_tokens", &d.CachedTokens}, count{"cache_write_tokens", &d.CacheWriteTokens})
				u.PromptTokensDetails = d
			}
		case "completion_tokens_details":
			if object {
				d := new(chat.CompletionDetails)
				d.Extra = r.counts(value, count{"reasoning_tokens", &d.ReasoningTokens})
				u.CompletionTokensDetails = d
			}
		default:
			u.Extra = addMember(u.Extra, name, value)
		}
	}
	return u
}

// count is a member that is a number, and where it goes.
type count struct {
	name string
	into *int64
}

// counts reads the numbers of an object, and returns its other members.
func (r *reader) counts(object jsontext.Value, numbers ...count) (others jsontext.Value) {
	for name, value := range jsonbytes.Members(object) {
		at := slices.IndexFunc(numbers, func(c count) bool { return name.Is(c.name) })
		if at < 0 {
			others = addMember(others, name, value)
			continue
		}
		*numbers[at].into = r.integer(value)
	}
	return others
}
