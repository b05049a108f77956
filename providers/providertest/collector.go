package providertest

import (
	"slices"
	"strings"

	"modelgateway/dialects/chat"
)

// collector puts the chunks of a stream together, and checks the rules of the
// format.
type collector struct {
	out    Outcome
	head   *head // of the first chunk
	drafts []*draft
}

// head is what all chunks share.
type head struct {
	id, model string
	created   int64
}

// draft is the state of a choice.
type draft struct {
	Choice
	role                              bool
	text, reasoning, refusal, logprob strings.Builder
	arguments                         []*strings.Builder
}

func (c *collector) add(chunk *chat.Chunk) {
	o := &c.out
	this := head{id: chunk.ID, model: chunk.Model, created: chunk.Created}
	if c.head == nil {
		c.head = &this
		o.demand(this.id != "" && this.model != "", "id is %q and model %q", this.id, this.model)
		o.demand(this.created > 0, "created is %d", this.created)
	}
	o.demand(this == *c.head, "id, model or created change: %v, then %v", *c.head, this)
	o.demand(chunk.Object == chat.ObjectChunk, "object is %q", chunk.Object)
	o.demand(o.Usage == nil, "a chunk follows the usage")
	o.demand(len(chunk.Choices) > 0 || chunk.Usage != nil, "a chunk has neither choices nor usage")
	o.demand(len(chunk.Choices) == 0 || chunk.Usage == nil, "usage comes with choices")
	if chunk.Usage != nil {
		usage := *chunk.Usage // the chunk is valid only now
		o.Usage = &usage
	}
	for i := range chunk.Choices {
		c.choice(&chunk.Choices[i])
	}
}

func (c *collector) choice(fragment *chat.ChunkChoice) {
	d, o := c.draft(fragment.Index), &c.out
	o.demand(d.FinishReason == "", "choice %d goes on after its finish", d.Index)
	if delta := &fragment.Delta; !d.role {
		o.demand(delta.Role == "assistant", "choice %d begins with the role %q", d.Index, delta.Role)
		d.role = true
	} else {
		o.demand(delta.Role == "", "choice %d says its role again", d.Index)
	}
	if fragment.FinishReason != nil {
		d.FinishReason, d.Ending = *fragment.FinishReason, string(fragment.Extra)
		o.demand(d.FinishReason != "", "the finish reason is empty")
		o.demand(isEmpty(&fragment.Delta), "the finish chunk brings more than the finish")
	}
	d.logprob.Write(fragment.Logprobs)
	c.delta(d, &fragment.Delta)
}

func (c *collector) draft(index int) *draft {
	for _, d := range c.drafts {
		if d.Index == index {
			return d
		}
	}
	d := &draft{Choice: Choice{Index: index}}
	c.drafts = append(c.drafts, d)
	return d
}

func (c *collector) delta(d *draft, delta *chat.Delta) {
	if delta.Content != nil {
		d.text.WriteString(*delta.Content)
	}
	if delta.Refusal != nil {
		d.refusal.WriteString(*delta.Refusal)
	}
	d.reasoning.WriteString(delta.ReasoningContent)
	for _, detail := range delta.ReasoningDetails {
		d.detail(detail)
	}
	for _, image := range delta.Images {
		d.Images = append(d.Images, image.ImageURL.URL)
	}
	d.AddExtra(delta.Extra)
	for i := range delta.ToolCalls {
		c.call(d, &delta.ToolCalls[i])
	}
}

func (d *draft) detail(detail chat.ReasoningDetail) {
	at := slices.IndexFunc(d.Details, func(have chat.ReasoningDetail) bool {
		return have.Index == detail.Index && have.Type == detail.Type
	})
	if at < 0 {
		d.Details = append(d.Details, detail)
		return
	}
	have := &d.Details[at]
	have.Text += detail.Text
	have.Summary += detail.Summary
	have.Signature += detail.Signature
	have.Data += detail.Data
}

func (c *collector) call(d *draft, delta *chat.ToolCallDelta) {
	o := &c.out
	fresh := delta.Index == len(d.ToolCalls)
	if delta.Index < 0 || delta.Index > len(d.ToolCalls) {
		o.breach("tool call %d comes as number %d", delta.Index, len(d.ToolCalls))
		return
	}
	if fresh {
		o.demand(delta.ID != "" && delta.Type != "", "tool call %d begins with the id %q and the type %q", delta.Index,
			delta.ID, delta.Type)
		d.ToolCalls = append(d.ToolCalls, ToolCall{ID: delta.ID})
		d.arguments = append(d.arguments, new(strings.Builder))
	} else {
		o.demand(delta.ID == "" && delta.Type == "", "tool call %d says its id or type again", delta.Index)
	}
	if f := delta.Function; f != nil {
		o.demand(fresh == (f.Name != ""), "tool call %d says the name %q", delta.Index, f.Name)
		d.ToolCalls[delta.Index].Name += f.Name
		d.arguments[delta.Index].WriteString(f.Arguments)
	}
}

func (c *collector) finish() Outcome {
	var choices []Choice
	for _, d := range c.drafts {
		d.Text, d.Reasoning, d.Refusal = d.text.String(), d.reasoning.String(), d.refusal.String()
		d.Logprobs = d.logprob.String()
		for i := range d.ToolCalls {
			d.ToolCalls[i].Arguments = d.arguments[i].String()
		}
		c.out.demand(d.FinishReason != "" || c.out.Failure != nil, "choice %d has no finish, and there is no error", d.Index)
		choices = append(choices, d.Choice)
	}
	if len(choices) > 0 || c.out.Failure == nil {
		c.out.put(choices)
	}
	return c.out
}

func isEmpty(d *chat.Delta) bool {
	return (d.Content == nil || *d.Content == "") && d.Refusal == nil && d.ReasoningContent == "" &&
		len(d.ReasoningDetails) == 0 && len(d.ToolCalls) == 0 && d.FunctionCall == nil && len(d.Images) == 0
}
