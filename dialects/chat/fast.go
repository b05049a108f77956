package chat

import (
	"slices"

	"modelgateway/api"
	"modelgateway/internal/scan"
)

// readFast decodes requests of plain text with the common options. It returns false
// for all others, and for those that could be invalid: then the strict decoder
// reads the body, and words the error. An error is of memory.
func (r *Request) readFast(memory api.Memory, body []byte) (bool, error) {
	d := fastDecoder{request: r, memory: memory}
	d.Reset(body)
	d.Open('{')
	for first := true; d.More('}', first); first = false {
		d.member(d.Name())
	}
	return d.Done(), d.err
}

// fastDecoder is the fast path for one request.
type fastDecoder struct {
	scan.Cursor
	request *Request
	memory  api.Memory
	err     error // of memory
	seen    uint32
}

// The members that may come, each once.
const (
	sawModel uint32 = 1 << iota
	sawMessages
	sawStream
	sawStreamOptions
	sawMaxTokens
	sawMaxCompletionTokens
	sawTemperature
	sawTopP
	sawFrequencyPenalty
	sawPresencePenalty
	sawN
	sawSeed
	sawUser
	sawReasoningEffort
	sawUsage
	sawRole
	sawContent
	sawName
)

func (d *fastDecoder) member(name []byte) {
	r := d.request
	switch string(name) {
	case "model":
		d.Once(&d.seen, sawModel)
		r.Model = string(d.String())
	case "messages":
		d.Once(&d.seen, sawMessages)
		d.messages()
	case "stream":
		d.Once(&d.seen, sawStream)
		r.Stream = d.Bool()
	case "stream_options":
		d.Once(&d.seen, sawStreamOptions)
		r.StreamOptions = d.streamOptions()
	case "max_tokens":
		d.Once(&d.seen, sawMaxTokens)
		r.MaxTokens = d.count()
	case "max_completion_tokens":
		d.Once(&d.seen, sawMaxCompletionTokens)
		r.MaxCompletionTokens = d.count()
	case "temperature":
		d.Once(&d.seen, sawTemperature)
		r.Temperature = d.number()
	case "top_p":
		d.Once(&d.seen, sawTopP)
		r.TopP = d.number()
	case "frequency_penalty":
		d.Once(&d.seen, sawFrequencyPenalty)
		r.FrequencyPenalty = d.number()
	case "presence_penalty":
		d.Once(&d.seen, sawPresencePenalty)
		r.PresencePenalty = d.number()
	case "n":
		d.Once(&d.seen, sawN)
		r.N = d.count()
	case "seed":
		d.Once(&d.seen, sawSeed)
		r.Seed = d.count()
	case "user":
		d.Once(&d.seen, sawUser)
		r.User = string(d.String())
	case "reasoning_effort":
		d.Once(&d.seen, sawReasoningEffort)
		r.ReasoningEffort = string(d.String())
	default:
		d.Fail()
	}
}

func (d *fastDecoder) messages() {
	all := make([]Message, 0, 2) // so few are not reserved: the slot of a call has room for them
	d.Open('[')
	for first := true; d.More(']', first); first = false {
		if len(all) == cap(all) && !d.grow(&all) {
			return
		}
		all = append(all, Message{})
		m := &all[len(all)-1]
		d.message(m)
		d.Assert(m.plain() && len(all) <= maxMessages)
	}
	d.request.Messages = all
}

// grow makes room for as many messages again.
func (d *fastDecoder) grow(all *[]Message) bool {
	n := len(*all)
	if n >= maxMessages {
		d.Fail()
		return false
	}
	if d.memory != nil {
		if d.err = d.memory.Reserve(int64(n) * api.BytesPerObject); d.err != nil {
			d.Fail()
			return false
		}
	}
	*all = slices.Grow(*all, n)
	return true
}

func (d *fastDecoder) message(m *Message) {
	var seen uint32
	d.Open('{')
	for first := true; d.More('}', first); first = false {
		switch string(d.Name()) {
		case "role":
			d.Once(&seen, sawRole)
			m.Role = d.role()
		case "content":
			d.Once(&seen, sawContent)
			// The body is the request's own, and stays as it is.
			m.Content = Content{Set: true, literal: d.Literal()}
		case "name":
			d.Once(&seen, sawName)
			m.Name = string(d.String())
		default:
			d.Fail()
		}
	}
}

// role reads one of the roles that need not be copied.
func (d *fastDecoder) role() string {
	text := d.String()
	for _, role := range roles {
		if string(text) == role {
			return role
		}
	}
	d.Fail()
	return ""
}

func (d *fastDecoder) streamOptions() *StreamOptions {
	o := new(StreamOptions)
	var seen uint32
	d.Open('{')
	for first := true; d.More('}', first); first = false {
		if string(d.Name()) != "include_usage" {
			d.Fail()
			break
		}
		d.Once(&seen, sawUsage)
		o.IncludeUsage = d.Bool()
	}
	return o
}

func (d *fastDecoder) count() *int64 {
	n := d.Count()
	return &n
}

func (d *fastDecoder) number() *float64 {
	n := d.Number()
	return &n
}
