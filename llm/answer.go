package llm

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Answer is a whole answer.
type Answer struct {
	Head
	Choices []AnswerChoice // by their index
	Usage   *Usage         // nil = not reported

	// Raw is the answer in the JSON of RawDialect, from a provider that speaks
	// the client's dialect. Then Choices holds the finish reasons only.
	Raw        []byte
	RawDialect Dialect
}

// AnswerChoice is one of the answers to a request.
type AnswerChoice struct {
	Index    int
	Blocks   []Block        // in their order; of a thought Text is what may be shown
	Logprobs jsontext.Value // of all tokens, in OpenAI's form

	Citations []Citation
	Ending
}

// CountImages is how many images a whole answer has.
func (a *Answer) CountImages() (n int64) {
	for i := range a.Choices {
		for _, b := range a.Choices[i].Blocks {
			if b.Kind == BlockMedia && b.Media.Kind == Image {
				n++
			}
		}
	}
	return n + a.Images
}

// Events yields the blocks of a choice as the events that they would have come in, without those
// of its beginning and its end. An event is valid until the next one.
func (c *AnswerChoice) Events(yield func(*Event)) {
	var e Event
	var call CallStart
	calls, chars, logprobs := 0, 0, c.Logprobs
	for i := range c.Blocks {
		from := &c.Blocks[i]
		e = Event{Block: i, Text: from.Text, Thought: from.Thought, Media: from.Media}
		switch from.Kind {
		case BlockText:
			e.Kind, e.Logprobs, logprobs = EventText, logprobs, nil
		case BlockRefusal:
			e.Kind = EventRefusal
		case BlockThought:
			e.Kind = EventThought
		case BlockMedia:
			e.Kind = EventMedia
		case BlockCall:
			call = CallStart{ID: from.Call.ID, Name: from.Call.Name, Arguments: from.Call.Input, Thought: from.Thought}
			e.Kind, e.Call, e.CallIndex = EventCall, &call, calls
			calls++
		default:
			continue
		}
		yield(&e)
		if from.Kind == BlockText && len(c.Citations) > 0 {
			before := chars
			chars += utf8.RuneCountInString(from.Text)
			yield(&Event{Kind: EventCitations, Citations: citationsWithin(c.Citations, before, chars, i == len(c.Blocks)-1)})
		}
	}
}

// citationsWithin are those of a text from one character to another; those without a place are of
// the last text.
func citationsWithin(all []Citation, from, to int, last bool) []Citation {
	var within []Citation
	for _, c := range all {
		if placed := c.End > 0; placed && c.End > from && c.End <= to || !placed && last {
			within = append(within, c)
		}
	}
	return within
}

// Single is the stream of a whole answer.
func Single(answer *Answer) Stream {
	return func(yield func(*Event, error) bool) { yield(&Event{Kind: EventAnswer, Answer: answer}, nil) }
}

// Collect reads a stream to its end and puts the answer together. Its errors
// are those of the stream.
func Collect(stream Stream) (*Answer, error) {
	c := new(collector)
	stream(c.add)
	if c.err != nil {
		return nil, c.err
	}
	slices.SortStableFunc(c.drafts, func(x, y *draft) int { return cmp.Compare(x.choice.Index, y.choice.Index) })
	c.answer.Choices = make([]AnswerChoice, 0, len(c.drafts))
	for _, d := range c.drafts {
		c.answer.Choices = append(c.answer.Choices, d.finish())
	}
	return &c.answer, nil
}

type collector struct {
	answer Answer
	drafts []*draft
	err    error
}

func (c *collector) add(e *Event, err error) bool {
	if err != nil {
		c.err = err
		return false
	}
	if e == nil {
		return true // a pause
	}
	a := &c.answer
	if e.Head != nil {
		a.Head = *e.Head
	}
	if e.Kind == EventAnswer {
		a.Raw, a.RawDialect, a.Usage = e.Raw, e.RawDialect, e.Usage
		return true
	}
	if e.Usage != nil {
		usage := *e.Usage
		a.Usage = &usage
	}
	if e.Kind != EventUsage {
		c.draft(e.Choice).add(e)
	}
	return true
}

// draft is the state of a choice, from its first event on.
func (c *collector) draft(choice int) *draft {
	for _, d := range c.drafts {
		if d.choice.Index == choice {
			return d
		}
	}
	d := &draft{choice: AnswerChoice{Index: choice}}
	c.drafts = append(c.drafts, d)
	return d
}

// draft is the state of a choice.
type draft struct {
	choice AnswerChoice
	said   int      // Event.Block of the last text
	texts  []joined // of the blocks
	calls  []int    // the blocks of the calls, by their index
}

func (d *draft) add(e *Event) {
	if len(e.Logprobs) > 0 {
		d.choice.Logprobs = joinLogprobs(d.choice.Logprobs, e.Logprobs)
	}
	switch e.Kind {
	case EventText:
		d.text(BlockText, e)
	case EventRefusal:
		d.text(BlockRefusal, e)
	case EventThought:
		d.thought(e)
	case EventMedia:
		d.block(Block{Kind: BlockMedia, Media: e.Media})
	case EventCall:
		d.calls = append(d.calls, len(d.choice.Blocks))
		c := e.Call
		text := d.block(Block{
			Kind: BlockCall, Thought: cloned(c.Thought),
			Call: &Call{ID: c.ID, Name: c.Name, Namespace: c.Namespace, Kind: c.Kind, Signature: c.Signature},
		})
		text.add(c.Arguments)
	case EventInput:
		if e.CallIndex < len(d.calls) {
			d.texts[d.calls[e.CallIndex]].add(e.Text)
		}
	case EventCitations:
		d.choice.Citations = append(d.choice.Citations, e.Citations...)
	case EventFinish:
		c := &d.choice
		c.Ending = e.Ending
		c.StopDetails, c.Safety = slices.Clone(e.StopDetails), slices.Clone(e.Safety)
	}
}

// joined is a text of fragments. The text of a whole answer comes as one, and is not copied.
type joined struct {
	one  string
	more *strings.Builder
}

func (j *joined) add(fragment string) {
	switch {
	case j.more != nil:
		j.more.WriteString(fragment)
	case j.one == "":
		j.one = fragment
	case fragment != "":
		j.more = new(strings.Builder)
		j.more.WriteString(j.one)
		j.more.WriteString(fragment)
	}
}

func (j *joined) text() string {
	if j.more != nil {
		return j.more.String()
	}
	return j.one
}

// block adds a block and returns where its text goes. That is valid until the next block.
func (d *draft) block(b Block) *joined {
	d.choice.Blocks = append(d.choice.Blocks, b)
	d.texts = append(d.texts, joined{})
	return &d.texts[len(d.texts)-1]
}

func (d *draft) text(kind BlockKind, e *Event) {
	last := len(d.choice.Blocks) - 1
	if last < 0 || d.choice.Blocks[last].Kind != kind || d.said != e.Block {
		d.block(Block{Kind: kind})
		last++
	}
	d.said = e.Block
	d.texts[last].add(e.Text)
}

func (d *draft) thought(e *Event) {
	blocks := d.choice.Blocks
	at := -1
	if e.Thought == nil {
		if last := len(blocks) - 1; last >= 0 && blocks[last].Kind == BlockThought && blocks[last].Thought == nil {
			at = last
		}
	} else {
		at = slices.IndexFunc(blocks, func(b Block) bool {
			return b.Kind == BlockThought && b.Thought != nil && b.Thought.Index == e.Thought.Index && b.Thought.Kind == e.Thought.Kind
		})
	}
	if at < 0 {
		d.block(Block{Kind: BlockThought, Thought: cloned(e.Thought)}).add(e.Text)
		return
	}
	d.texts[at].add(e.Text)
	if have, more := blocks[at].Thought, e.Thought; more != nil {
		have.Text += more.Text
		have.Signature = cmp.Or(more.Signature, have.Signature)
		have.Data = cmp.Or(more.Data, have.Data)
		have.WithCalls = have.WithCalls || more.WithCalls
	}
}

func cloned(t *Thought) *Thought {
	if t == nil {
		return nil
	}
	clone := *t
	return &clone
}

func (d *draft) finish() AnswerChoice {
	for i := range d.choice.Blocks {
		b := &d.choice.Blocks[i]
		if b.Kind == BlockCall {
			b.Call.Input = d.texts[i].text()
			continue
		}
		b.Text = d.texts[i].text()
	}
	return d.choice
}

// joinLogprobs puts the probabilities of two fragments in one list.
func joinLogprobs(a, b jsontext.Value) jsontext.Value {
	type logprobs struct {
		Content []jsontext.Value `json:"content"`
		Refusal []jsontext.Value `json:"refusal"`
	}
	var x, y logprobs
	if len(a) == 0 || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return slices.Clone(b)
	}
	out, err := json.Marshal(logprobs{append(x.Content, y.Content...), append(x.Refusal, y.Refusal...)},
		json.FormatNilSliceAsNull(true))
	if err != nil {
		return slices.Clone(b)
	}
	return out
}
