package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event has the members of answers and of stream events of all client APIs that are checked.
type event struct {
	Type, Object, Role, Status string // Type: of the Messages and the Responses API
	Error                      json.RawMessage

	Choices []struct {
		Message, Delta said
		FinishReason   string `json:"finish_reason"`
	}
	Usage struct {
		Total  int `json:"total_tokens"`
		Output int `json:"output_tokens"`
	}
	Data []struct{ Embedding []float64 }

	Content    []said
	StopReason string `json:"stop_reason"`
	Message    struct{ Role string }
	Delta      json.RawMessage // an object of the Messages API, a text of the Responses API

	Item     struct{ Role string }
	Output   []struct{ Content []said }
	Response *event
}

// said is what a part of an event says, under the name that its API has for it.
type said struct {
	Role, Content, Text string
	StopReason          string `json:"stop_reason"`
}

// meaning is what a whole answer or one event says.
type meaning struct {
	text                        string
	role, finished, usage, done bool // done: the stream ends here
}

// read is the meaning of an answer or an event; an error where it says that something failed.
func read(text []byte) (m meaning, err error) {
	if string(text) == "[DONE]" {
		return meaning{done: true}, nil
	}
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return m, fmt.Errorf("not JSON: %w: %.120q", err, text)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return m, fmt.Errorf("an error: %.200s", e.Error)
	}
	switch {
	case e.Object == "response":
		return e.response()
	case strings.HasPrefix(e.Type, "response."):
		return e.responseEvent()
	case e.Type != "":
		return e.message()
	case len(e.Data) > 0:
		return e.vectors()
	case len(e.Choices) > 1:
		return m, fmt.Errorf("%d choices", len(e.Choices))
	}
	m.usage = e.Usage.Total > 0
	for _, c := range e.Choices {
		m.role = c.Message.Role == "assistant" || c.Delta.Role == "assistant"
		m.text, m.finished = c.Message.Content+c.Delta.Content, c.FinishReason == "stop"
		if c.FinishReason != "" && !m.finished {
			return m, fmt.Errorf("finish reason %q", c.FinishReason)
		}
	}
	return m, nil
}

// message is of the Messages API.
func (e *event) message() (m meaning, err error) {
	reason := e.StopReason
	switch e.Type {
	case "message":
		if len(e.Content) != 1 {
			return m, fmt.Errorf("%d blocks", len(e.Content))
		}
		m = meaning{text: e.Content[0].Text, role: e.Role == "assistant", usage: e.Usage.Output > 0}
	case "message_start":
		return meaning{role: e.Message.Role == "assistant"}, nil
	case "message_stop":
		return meaning{done: true}, nil
	case "content_block_delta", "message_delta":
		var delta said
		if err := json.Unmarshal(e.Delta, &delta); err != nil {
			return m, err
		}
		if e.Type == "content_block_delta" {
			return meaning{text: delta.Text}, nil
		}
		m.usage, reason = e.Usage.Output > 0, delta.StopReason
	default:
		return m, nil
	}
	if m.finished = reason == "end_turn"; !m.finished {
		return m, fmt.Errorf("stop reason %q", reason)
	}
	return m, nil
}

// response is an answer of the Responses API.
func (e *event) response() (m meaning, err error) {
	if e.Status != "completed" || len(e.Output) != 1 || len(e.Output[0].Content) != 1 {
		return m, fmt.Errorf("status %q, %d items", e.Status, len(e.Output))
	}
	return meaning{text: e.Output[0].Content[0].Text, role: true, finished: true, usage: e.Usage.Output > 0}, nil
}

func (e *event) responseEvent() (m meaning, err error) {
	switch e.Type {
	case "response.output_item.added":
		m.role = e.Item.Role == "assistant"
	case "response.output_text.delta":
		err = json.Unmarshal(e.Delta, &m.text)
	case "response.failed", "response.incomplete":
		err = fmt.Errorf("an event %s", e.Type)
	case "response.completed":
		if e.Response == nil {
			return m, errors.New("no response at the end")
		}
		if m, err = e.Response.response(); err == nil && m.text != streamText {
			err = fmt.Errorf("wrong text at the end: %.80q", m.text)
		}
		m.text, m.role, m.done = "", false, true
	}
	return m, err
}

// vectors is an answer with embeddings, which has no text.
func (e *event) vectors() (m meaning, err error) {
	if len(e.Data) != vectors {
		return m, fmt.Errorf("%d vectors", len(e.Data))
	}
	for _, v := range e.Data {
		if len(v.Embedding) != dimensions {
			return m, fmt.Errorf("a vector of %d numbers", len(v.Embedding))
		}
	}
	return meaning{text: answerText, role: true, finished: true, usage: e.Usage.Total > 0}, nil
}

const (
	remembered = 2048     // events that a checker keeps
	readBuffer = 32 << 10 // bytes that it reads at once
)

// checker verifies complete answers and streams. It is used by one goroutine. What was read
// is looked up by its bytes when it comes again, so that the checker takes little of the
// processors that it shares with the targets.
type checker struct {
	known  map[string]meaning
	reader *bufio.Reader
	body   bytes.Buffer // of an answer
}

func newChecker() *checker {
	return &checker{known: map[string]meaning{}, reader: bufio.NewReaderSize(nil, readBuffer)}
}

func (c *checker) read(text []byte) (meaning, error) {
	if m, ok := c.known[string(text)]; ok {
		return m, nil
	}
	m, err := read(text)
	if err != nil {
		return m, err
	}
	if len(c.known) >= remembered {
		clear(c.known)
	}
	c.known[string(text)] = m
	return m, nil
}

// answer verifies a whole answer.
func (c *checker) answer(body []byte) error {
	m, err := c.read(body)
	switch {
	case err != nil:
		return err
	case m.text != answerText:
		return fmt.Errorf("wrong text: %.80q", m.text)
	case !m.role || !m.finished || !m.usage:
		return fmt.Errorf("role %t, finish reason %t, usage %t", m.role, m.finished, m.usage)
	}
	return nil
}

// stream verifies a stream to its end. chunk is called after each piece of text; it may be nil.
func (c *checker) stream(body io.Reader, chunk func()) error {
	c.reader.Reset(body)
	seen := progress{rest: streamText, chunk: chunk}
	for {
		line, err := c.line()
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return seen.end()
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = c.take(&seen, bytes.TrimRight(line, "\r\n"))
		}
		if err != nil {
			return fmt.Errorf("after %d chunks: %w", seen.chunks, err)
		}
	}
}

// line is the next line of any length; it is valid until the next one.
func (c *checker) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) && len(whole) < 1<<20 {
		line, err = c.reader.ReadSlice('\n')
		whole = append(whole, line...)
	}
	return whole, err
}

func (c *checker) take(seen *progress, line []byte) error {
	if len(line) == 0 || line[0] == ':' || bytes.HasPrefix(line, []byte("event:")) {
		return nil
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return fmt.Errorf("a line without data: %.80q", line)
	}
	m, err := c.read(bytes.TrimPrefix(data, []byte(" ")))
	if err != nil {
		return err
	}
	return seen.take(m)
}

// progress is the state of a stream.
type progress struct {
	meaning        // of all events so far, but for their text
	rest    string // of the text
	chunks  int
	chunk   func()
}

func (p *progress) take(m meaning) error {
	rest, ok := strings.CutPrefix(p.rest, m.text)
	p.role = p.role || m.role
	switch {
	case p.done:
		return errors.New("data after the end mark")
	case m.text != "" && (!p.role || p.finished):
		return errors.New("text before the role or after the finish reason")
	case !ok:
		return fmt.Errorf("wrong text: %.40q instead of %.40q", m.text, p.rest)
	case m.finished && p.finished:
		return errors.New("two finish reasons")
	}
	p.rest = rest
	p.finished, p.usage, p.done = p.finished || m.finished, p.usage || m.usage, m.done
	if m.text != "" {
		p.chunks++
		if p.chunk != nil {
			p.chunk()
		}
	}
	return nil
}

// end checks a stream that has ended.
func (p *progress) end() error {
	switch {
	case p.rest != "":
		return fmt.Errorf("cut off after %d chunks: %.40q is missing", p.chunks, p.rest)
	case !p.finished || !p.usage || !p.done:
		return fmt.Errorf("finish reason %t, usage %t, end mark %t", p.finished, p.usage, p.done)
	}
	return nil
}
