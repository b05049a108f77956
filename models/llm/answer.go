package llm

import (
	"cmp"
	"slices"
	"strings"

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

	Finish       Finish
	StopSequence string
	StopDetails  jsontext.Value
	NativeReason string
}

// Collect reads a stream to its end and puts the answer together. Its errors
// are those of the stream.
func Collect(stream Stream) (*Answer, error) {
	c := new(collector) // one allocation for all that the loop needs
	stream(c.add)
	if c.err != nil {
		return nil, c.err
	}
	slices.SortStableFunc(c.drafts, func(x, y *draft) int { return cmp.Compare(x.choice.Index, y.choice.Index) })
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
		c.drafts = addEvent(c.drafts, e)
	}
	return true
}

// draft is the state of a choice.
type draft struct {
	choice AnswerChoice
	texts  []*strings.Builder // of the blocks
	calls  []int              // the blocks of the calls, by their index
}

func addEvent(drafts []*draft, e *Event) []*draft {
	at := slices.IndexFunc(drafts, func(d *draft) bool { return d.choice.Index == e.Choice })
	if at < 0 {
		at, drafts = len(drafts), append(drafts, &draft{choice: AnswerChoice{Index: e.Choice}})
	}
	drafts[at].add(e)
	return drafts
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
		text.WriteString(c.Arguments)
	case EventInput:
		if e.CallIndex < len(d.calls) {
			d.texts[d.calls[e.CallIndex]].WriteString(e.Text)
		}
	case EventFinish:
		c := &d.choice
		c.Finish, c.NativeReason, c.StopSequence, c.StopDetails = e.Finish, e.NativeReason, e.StopSequence, slices.Clone(e.StopDetails)
	}
}

// block adds a block and returns where its text goes.
func (d *draft) block(b Block) *strings.Builder {
	d.choice.Blocks = append(d.choice.Blocks, b)
	text := new(strings.Builder)
	d.texts = append(d.texts, text)
	return text
}

func (d *draft) text(kind BlockKind, e *Event) {
	last := len(d.choice.Blocks) - 1
	if last < 0 || d.choice.Blocks[last].Kind != kind {
		d.block(Block{Kind: kind})
		last++
	}
	d.texts[last].WriteString(e.Text)
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
		d.block(Block{Kind: BlockThought, Thought: cloned(e.Thought)}).WriteString(e.Text)
		return
	}
	d.texts[at].WriteString(e.Text)
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
			b.Call.Input = d.texts[i].String()
			continue
		}
		b.Text = d.texts[i].String()
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
