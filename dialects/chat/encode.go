package chat

import (
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
)

// ChunkEncoder writes the chunks of one stream as JSON, the same bytes as
// json.Marshal with api.Lenient. What the chunks share is rendered once, and a piece of text
// or of a tool call's arguments without reflection: in a tenth of json.Marshal's time.
type ChunkEncoder struct {
	id, object, model, tier, fingerprint string // what head and tail were rendered from
	created                              int64
	head, tail                           []byte
}

// Append adds the JSON of a chunk to dst.
func (e *ChunkEncoder) Append(dst []byte, c *Chunk) ([]byte, error) {
	if len(c.Extra) > 0 {
		text, err := json.Marshal(c, api.Lenient)
		return append(dst, text...), err
	}
	if e.head == nil || e.id != c.ID || e.object != c.Object || e.created != c.Created || e.model != c.Model ||
		e.tier != c.ServiceTier || e.fingerprint != c.SystemFingerprint {
		e.render(c)
	}
	dst = append(dst, e.head...)
	var err error
	for i := range c.Choices {
		if dst, err = appendChoice(jsonbytes.Writer(dst).Comma(), &c.Choices[i]); err != nil {
			return dst, err
		}
	}
	dst = append(dst, ']')
	if c.Usage != nil {
		usage, err := json.Marshal(c.Usage, api.Lenient)
		if err != nil {
			return dst, err
		}
		dst = jsonbytes.Writer(dst).JSON("usage", usage)
	}
	return append(dst, e.tail...), nil
}

func (e *ChunkEncoder) render(c *Chunk) {
	e.id, e.object, e.created, e.model, e.tier, e.fingerprint = c.ID, c.Object, c.Created, c.Model, c.ServiceTier, c.SystemFingerprint
	e.head = jsonbytes.Writer(e.head[:0]).Object().Text("id", c.ID).Text("object", c.Object).Int("created", c.Created).
		Text("model", c.Model).
		ListAt("choices")
	tail := jsonbytes.Writer("]") // of the choices
	if c.ServiceTier != "" {
		tail = tail.Text("service_tier", c.ServiceTier)
	}
	if c.SystemFingerprint != "" {
		tail = tail.Text("system_fingerprint", c.SystemFingerprint)
	}
	e.tail = tail[1:].EndObject()
}

// AppendCompletion adds the JSON of a whole answer to dst.
func AppendCompletion(dst []byte, c *Completion) ([]byte, error) {
	text, err := json.Marshal(c, api.Lenient)
	return append(dst, text...), err
}

func appendChoice(dst []byte, c *ChunkChoice) ([]byte, error) {
	if len(c.Logprobs) > 0 || len(c.Extra) > 0 || !c.Delta.plain() {
		text, err := json.Marshal(c, api.Lenient)
		return append(dst, text...), err
	}
	w := jsonbytes.Writer(dst).Object().Int("index", int64(c.Index)).ObjectAt("delta")
	d := &c.Delta
	if d.Role != "" {
		w = w.Text("role", d.Role)
	}
	if d.Content != nil {
		w = w.Text("content", *d.Content)
	}
	if d.Refusal != nil {
		w = w.Text("refusal", *d.Refusal)
	}
	if d.ReasoningContent != "" {
		w = w.Text("reasoning_content", d.ReasoningContent)
	}
	if len(d.ToolCalls) > 0 {
		w = withCalls(w, d.ToolCalls)
	}
	w = w.EndObject()
	if c.FinishReason == nil {
		w = w.Null("finish_reason")
	} else {
		w = w.Text("finish_reason", *c.FinishReason)
	}
	return w.EndObject(), nil
}

// plain says whether a delta has only the members that appendChoice writes.
func (d *Delta) plain() bool {
	for i := range d.ToolCalls {
		c := &d.ToolCalls[i]
		if c.Function == nil || len(c.Function.Extra) > 0 || len(c.Custom) > 0 || c.ExtraContent != nil || len(c.Extra) > 0 {
			return false
		}
	}
	return len(d.ReasoningDetails) == 0 && d.FunctionCall == nil && len(d.Images) == 0 && len(d.Extra) == 0
}

func withCalls(w jsonbytes.Writer, calls []ToolCallDelta) jsonbytes.Writer {
	w = w.ListAt("tool_calls")
	for i := range calls {
		c := &calls[i]
		w = w.Object().Int("index", int64(c.Index))
		if c.ID != "" {
			w = w.Text("id", c.ID)
		}
		if c.Type != "" {
			w = w.Text("type", c.Type)
		}
		w = w.ObjectAt("function")
		if c.Function.Name != "" {
			w = w.Text("name", c.Function.Name)
		}
		w = w.Text("arguments", c.Function.Arguments).EndObject().EndObject()
	}
	return w.EndList()
}
