package chat

import (
	"modelgateway/models/scan"
)

// readFast reads the request that most traffic consists of: turns of plain text
// and the common options. Of anything else, and of anything that could be a
// mistake, it says false; then the strict decoder reads the body and says what
// is wrong with it.
func (r *Request) readFast(body []byte) bool {
	q := door{request: r}
	q.Reset(body)
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		q.member(q.Name())
	}
	return q.Done()
}

// door is the quick reading of one request.
type door struct {
	scan.Cursor
	request *Request
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

func (q *door) member(name []byte) {
	r := q.request
	switch string(name) {
	case "model":
		q.Once(&q.seen, sawModel)
		r.Model = string(q.String())
	case "messages":
		q.Once(&q.seen, sawMessages)
		q.messages()
	case "stream":
		q.Once(&q.seen, sawStream)
		r.Stream = q.Bool()
	case "stream_options":
		q.Once(&q.seen, sawStreamOptions)
		r.StreamOptions = q.streamOptions()
	case "max_tokens":
		q.Once(&q.seen, sawMaxTokens)
		r.MaxTokens = q.count()
	case "max_completion_tokens":
		q.Once(&q.seen, sawMaxCompletionTokens)
		r.MaxCompletionTokens = q.count()
	case "temperature":
		q.Once(&q.seen, sawTemperature)
		r.Temperature = q.number()
	case "top_p":
		q.Once(&q.seen, sawTopP)
		r.TopP = q.number()
	case "frequency_penalty":
		q.Once(&q.seen, sawFrequencyPenalty)
		r.FrequencyPenalty = q.number()
	case "presence_penalty":
		q.Once(&q.seen, sawPresencePenalty)
		r.PresencePenalty = q.number()
	case "n":
		q.Once(&q.seen, sawN)
		r.N = q.count()
	case "seed":
		q.Once(&q.seen, sawSeed)
		r.Seed = q.count()
	case "user":
		q.Once(&q.seen, sawUser)
		r.User = string(q.String())
	case "reasoning_effort":
		q.Once(&q.seen, sawReasoningEffort)
		r.ReasoningEffort = string(q.String())
	default:
		q.Odd()
	}
}

func (q *door) messages() {
	all := make([]Message, 0, 2)
	q.Open('[')
	for first := true; q.More(']', first); first = false {
		all = append(all, Message{})
		m := &all[len(all)-1]
		q.message(m)
		q.Expect(m.plain() && len(all) <= maxMessages)
	}
	q.request.Messages = all
}

func (q *door) message(m *Message) {
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		switch string(q.Name()) {
		case "role":
			q.Once(&seen, sawRole)
			m.Role = q.role()
		case "content":
			q.Once(&seen, sawContent)
			// The body is the request's own, and stays as it is.
			m.Content = Content{Set: true, literal: q.Literal()}
		case "name":
			q.Once(&seen, sawName)
			m.Name = string(q.String())
		default:
			q.Odd()
		}
	}
}

// role reads one of the roles that need not be copied.
func (q *door) role() string {
	text := q.String()
	for _, role := range roles {
		if string(text) == role {
			return role
		}
	}
	q.Odd()
	return ""
}

func (q *door) streamOptions() *StreamOptions {
	o := new(StreamOptions)
	var seen uint32
	q.Open('{')
	for first := true; q.More('}', first); first = false {
		if string(q.Name()) != "include_usage" {
			q.Odd()
			break
		}
		q.Once(&seen, sawUsage)
		o.IncludeUsage = q.Bool()
	}
	return o
}

func (q *door) count() *int64 {
	n := q.Count()
	return &n
}

func (q *door) number() *float64 {
	n := q.Number()
	return &n
}
