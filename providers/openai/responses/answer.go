package responses

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

var (
	errNoStatus   = errors.New("the answer has no status")
	errUnfinished = errors.New("the answer is not finished")
	errManyItems  = errors.New("the answer has too many items")
)

// responseAnswer is the state machine between the events of an answer and those of the
// common form. A whole answer is its items, each of them done. Its methods return false
// when the consumer has left, or when the answer is cut.
type responseAnswer struct {
	exchange *respondingExchange
	out      *llm.Emitter
	stops    stopper

	items    []openItem
	highest  int64 // of their indices
	thoughts int   // their indices so far
	chars    int   // of the texts so far
	calls    int
	ended    bool

	thought llm.Thought // of the event being sent
}

// maxItems is how many items an answer may have: each event of an item looks for it.
const maxItems = 4 * llm.MaxCalls

func (x *respondingExchange) answer(yield func(*llm.Event, error) bool, r *response) *responseAnswer {
	a := &responseAnswer{exchange: x}
	a.out = llm.NewEmitter(yield, llm.Head{
		ID: r.ID, Model: cmp.Or(r.Model, x.call.Model.Upstream), Created: int64(r.CreatedAt), ServiceTier: tierOf(r),
	})
	a.out.Malformed = x.api.client.Malformed
	if a.out.Head().Created <= 0 {
		a.out.Head().Created = x.api.now().Unix()
	}
	a.stops.stops = x.call.Request.Stop
	return a
}

// tierOf is the service tier that answers. Before the end it may be only the wish.
func tierOf(r *response) string {
	if r.ServiceTier == "auto" {
		return ""
	}
	return r.ServiceTier
}

// readWhole reads a whole answer.
func (x *respondingExchange) readWhole(text []byte) (llm.Stream, error) {
	client := x.api.client
	var r response
	if err := json.Unmarshal(text, &r, wire.Lenient); err != nil {
		return nil, client.Malformed(fmt.Errorf("decode answer: %w", err))
	}
	switch {
	case r.Error != nil && r.Error.Message != "", r.Status == "failed":
		return nil, client.Refused(inStream(r.problem()))
	case r.Status == "":
		if p := wire.ProblemOf(text); p != nil {
			return nil, client.Refused(inStream(p))
		}
		return nil, client.Malformed(errNoStatus)
	case !isEnd(r.Status):
		return nil, client.Malformed(fmt.Errorf("%w: %q", errUnfinished, r.Status))
	}
	return func(yield func(*llm.Event, error) bool) {
		a := x.answer(yield, &r)
		alive := a.out.Begin(0)
		for i := range r.Output {
			alive = alive && !a.stops.cut && a.done(int64(i), &r.Output[i])
		}
		if alive || a.stops.cut {
			a.finish(&r)
		}
	}, nil
}

// isEnd says whether an answer of a status is whole, or as whole as it will be.
func isEnd(status string) bool {
	return !slices.Contains([]string{"queued", "in_progress", "cancelled"}, status)
}

// apply takes one event.
func (a *responseAnswer) apply(e *responseEvent) bool {
	switch e.Type {
	case eventText, eventRefusal, eventSummary, eventReasoning, eventArguments, eventCustomInput:
		return a.delta(e)
	case eventItemAdded:
		return a.add(e.OutputIndex, e.Item) != nil
	case eventItemDone:
		return a.done(e.OutputIndex, e.Item)
	case eventCompleted, eventIncomplete:
		a.ended = true
		a.finish(e.Response)
	}
	return true
}

// add begins an item; nil where the consumer has left. One that has begun stays what it is.
func (a *responseAnswer) add(index int64, item *outputItem) *openItem {
	if o := a.item(index); o != nil {
		return o
	}
	if !a.release() {
		return nil
	}
	if len(a.items) == maxItems {
		a.out.Fail(a.exchange.api.client.Malformed(errManyItems))
		return nil
	}
	o := openItem{index: index, kind: item.Type, id: item.ID, last: -1}
	alive := true
	if item.Type == itemFunctionCall || item.Type == itemCustomCall {
		alive = a.call(&o, item)
	}
	a.items, a.highest = append(a.items, o), max(a.highest, index)
	if !alive {
		return nil
	}
	return &a.items[len(a.items)-1]
}

func (a *responseAnswer) item(index int64) *openItem {
	if len(a.items) == 0 || index > a.highest {
		return nil
	}
	for i := len(a.items) - 1; i >= 0; i-- {
		if a.items[i].index == index {
			return &a.items[i]
		}
	}
	return nil
}

// delta takes a piece of an item. One of an item that has not begun is left to its end,
// which has all of it.
func (a *responseAnswer) delta(e *responseEvent) bool {
	o := a.item(e.OutputIndex)
	if o == nil || e.Delta == "" || o.kind != deltaOf(e.Type) || o.wrapped {
		return true
	}
	return a.piece(o, e.part(), e.Delta, e.Type == eventRefusal)
}

// done ends an item, and sends what of it has not come in pieces.
func (a *responseAnswer) done(index int64, item *outputItem) bool {
	o := a.add(index, item)
	if o == nil || o.done {
		return o != nil
	}
	o.done = true
	switch o.kind {
	case itemMessage:
		return a.doneMessage(o, item)
	case itemReasoning:
		return a.doneThought(o, item)
	case itemFunctionCall:
		if item.Arguments == "" && len(o.sent) == 0 && item.Status != "incomplete" {
			return a.piece(o, 0, "{}", false)
		}
		return a.rest(o, 0, string(item.Arguments), false)
	case itemCustomCall:
		if o.wrapped {
			return a.piece(o, 0, `{"input":`+string(jsonbytes.AppendString(nil, item.Input))+`}`, false)
		}
		return a.rest(o, 0, item.Input, false)
	}
	return true
}

func (a *responseAnswer) doneMessage(o *openItem, item *outputItem) bool {
	for i := range item.Content {
		p := &item.Content[i]
		from := a.chars
		if !a.rest(o, int64(i), p.Text+p.Refusal, p.Type == partRefusal) || !a.release() {
			return false
		}
		if p.Type != partRefusal {
			a.chars += utf8.RuneCountInString(p.Text)
			if !a.out.Citations(0, citationsOf(p.Annotations, from)) {
				return false
			}
		}
	}
	return true
}

func (a *responseAnswer) doneThought(o *openItem, item *outputItem) bool {
	parts := item.Summary
	if len(parts) == 0 {
		parts = item.Content
	}
	for i := range parts {
		if !a.rest(o, int64(i), parts[i].Text, false) {
			return false
		}
	}
	if item.Encrypted == "" {
		return true
	}
	o.id = cmp.Or(item.ID, o.id)
	return a.think(o, llm.Thought{Kind: llm.ThoughtEncrypted, Data: item.Encrypted, Index: a.nextThought(), WithCalls: true})
}

// nextThought is the index of a thought: what is shown of an item is one, and what is
// encrypted is another.
func (a *responseAnswer) nextThought() int {
	a.thoughts++
	return a.thoughts - 1
}

// citationsOf reads the sources of a text that begins behind as many characters.
func citationsOf(annotations []jsontext.Value, from int) []llm.Citation {
	var all []llm.Citation
	for _, text := range annotations {
		var c struct {
			Type  string `json:"type"`
			URL   string `json:"url"`
			Title string `json:"title"`
			Start int64  `json:"start_index"`
			End   int64  `json:"end_index"`
		}
		if json.Unmarshal(text, &c, wire.Lenient) != nil || c.Type != "url_citation" || c.URL == "" {
			continue
		}
		out := llm.Citation{URL: c.URL, Title: c.Title}
		if c.Start >= 0 && c.End > c.Start {
			out.Start, out.End = from+int(c.Start), from+int(c.End)
		}
		all = append(all, out)
	}
	return all
}

// finish ends the answer.
func (a *responseAnswer) finish(r *response) {
	if !a.release() && !a.stops.cut {
		return
	}
	if a.stops.cut {
		a.out.Usage(r.usage())
		return
	}
	a.out.Head().ServiceTier = cmp.Or(tierOf(r), a.out.Head().ServiceTier)
	if a.out.Finish(0, a.ending(r)) {
		a.out.Usage(r.usage())
	}
}

func (a *responseAnswer) ending(r *response) llm.Ending {
	reason := r.reason()
	switch {
	case reason == "content_filter":
		return llm.Ending{Finish: llm.FinishContentFilter, NativeReason: reason}
	case reason != "":
		return llm.Ending{Finish: llm.FinishLength, NativeReason: reason}
	case a.calls > 0:
		return llm.Ending{Finish: llm.FinishToolCalls, NativeReason: r.Status}
	}
	return llm.Ending{Finish: llm.FinishStop, NativeReason: r.Status}
}

func (a *responseAnswer) fail(err error) {
	if a.release() {
		a.out.Fail(err)
	}
}

// stopper finds the stop sequences of a request in the text of its answer: the Responses
// API has none. What may be the beginning of one is held back.
type stopper struct {
	stops []string
	held  string
	cut   bool // one has been found: the answer ends before it
}

// take is what of the text so far may be sent, and the stop sequence that ends it: the one
// that is whole first, and of these the longest. So it does not depend on how the text is
// divided.
func (s *stopper) take(text string) (out, stop string) {
	if len(s.stops) == 0 {
		return text, ""
	}
	text = s.held + text
	at, end := -1, 0
	for _, word := range s.stops {
		if i := strings.Index(text, word); i >= 0 && word != "" && (at < 0 || i+len(word) < end || i+len(word) == end && i < at) {
			at, end = i, i+len(word)
		}
	}
	if at >= 0 {
		s.held, s.cut = "", true
		return text[:at], text[at:end]
	}
	keep := 0
	for _, word := range s.stops {
		for n := min(len(word)-1, len(text)); n > keep; n-- {
			if strings.HasSuffix(text, word[:n]) {
				keep = n
			}
		}
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep], ""
}

// say sends a piece of text, and ends the answer at a stop sequence.
func (a *responseAnswer) say(text string) bool {
	out, stop := a.stops.take(text)
	if out != "" && !a.out.Text(0, out) {
		return false
	}
	if !a.stops.cut {
		return true
	}
	a.out.Finish(0, llm.Ending{Finish: llm.FinishStop, NativeReason: "stop_sequence", StopSequence: stop})
	return false
}

// release sends the text that was held back, where something else follows. A stop
// sequence does not go on there.
func (a *responseAnswer) release() bool {
	if a.stops.cut {
		return false
	}
	held := a.stops.held
	a.stops.held = ""
	return held == "" || a.out.Text(0, held)
}
