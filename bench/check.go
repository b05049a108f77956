package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event has the members of an answer or a chunk of the OpenAI API that are
// checked.
type event struct {
	Choices []struct {
		Index   int `json:"index"`
		Message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		Delta struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Total  int `json:"total_tokens"`
		Output int `json:"output_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`

	Data []struct { // vectors
		Embedding []float64 `json:"embedding"`
	} `json:"data"`

	message // of the Messages API, which Type tells

	response *response // of the Responses API; nil for the others
}

// memory is how many parsed events a checker keeps.
const memory = 2048

// readBuffer is how many bytes a checker reads at once.
const readBuffer = 32 << 10

// checker verifies complete answers and streams. It is used by one goroutine.
// Parsed events are looked up by their bytes when they come again, so that the
// checker takes little of the processors that it shares with the targets.
type checker struct {
	known  map[string]*event
	reader *bufio.Reader
	body   bytes.Buffer // of an answer
}

func newChecker(buffer int) *checker {
	return &checker{known: map[string]*event{}, reader: bufio.NewReaderSize(nil, buffer)}
}

func (c *checker) parse(text []byte) (*event, error) {
	if e, ok := c.known[string(text)]; ok {
		return e, nil
	}
	e := new(event)
	if err := e.read(text); err != nil {
		return nil, fmt.Errorf("not JSON: %w: %.120q", err, text)
	}
	if len(c.known) >= memory {
		clear(c.known)
	}
	c.known[string(text)] = e
	return e, nil
}

// answer verifies a whole answer.
func (c *checker) answer(body []byte) error {
	e, err := c.parse(body)
	if err != nil {
		return err
	}
	switch {
	case e.response != nil:
		return e.response.whole()
	case len(e.Error) > 0:
		return fmt.Errorf("an error in an answer: %.200s", e.Error)
	case e.Type != "":
		return e.answer(e.Usage != nil && e.Usage.Output > 0)
	case len(e.Data) > 0:
		return e.vectors()
	case len(e.Choices) != 1:
		return fmt.Errorf("%d choices", len(e.Choices))
	case e.Choices[0].Message.Role != "assistant":
		return fmt.Errorf("role %q", e.Choices[0].Message.Role)
	case e.Choices[0].Message.Content != answerText:
		return fmt.Errorf("wrong text: %.80q", e.Choices[0].Message.Content)
	case e.Choices[0].FinishReason != "stop":
		return fmt.Errorf("finish reason %q", e.Choices[0].FinishReason)
	case e.Usage == nil || e.Usage.Total == 0:
		return errors.New("no usage")
	}
	return nil
}

// stream verifies a stream to its end. chunk is called after each piece of
// text; it may be nil.
func (c *checker) stream(body io.Reader, chunk func()) error {
	c.reader.Reset(body)
	seen := progress{rest: streamText, chunk: chunk}
	for {
		line, err := c.line()
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return seen.end()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("after %d chunks: %w", seen.chunks, err)
		}
		if err := c.take(&seen, bytes.TrimRight(line, "\r\n")); err != nil {
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
	data = bytes.TrimPrefix(data, []byte(" "))
	if seen.done {
		return errors.New("data after the end mark")
	}
	if string(data) == "[DONE]" {
		seen.done = true
		return nil
	}
	e, err := c.parse(data)
	if err != nil {
		return err
	}
	return seen.take(e)
}

// progress is the state of a stream.
type progress struct {
	rest                        string // of the text
	chunks                      int
	role, finished, usage, done bool
	chunk                       func()
}

func (p *progress) take(e *event) error {
	if e.response != nil {
		return p.takeResponse(e.response)
	}
	if len(e.Error) > 0 {
		return fmt.Errorf("an error event: %.200s", e.Error)
	}
	if e.Type != "" {
		return p.takeMessage(e)
	}
	p.usage = p.usage || e.Usage != nil && e.Usage.Total > 0
	if len(e.Choices) == 0 {
		return nil
	}
	choice := e.Choices[0]
	p.role = p.role || choice.Delta.Role == "assistant"
	if err := p.text(choice.Delta.Content); err != nil {
		return err
	}
	if choice.FinishReason != "" {
		if choice.FinishReason != "stop" || p.finished {
			return fmt.Errorf("finish reason %q", choice.FinishReason)
		}
		p.finished = true
	}
	return nil
}

// text checks the next piece of the text.
func (p *progress) text(text string) error {
	if text == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(p.rest, text)
	switch {
	case !p.role:
		return errors.New("text before the role")
	case p.finished:
		return errors.New("text after the finish reason")
	case !ok:
		return fmt.Errorf("wrong text: %.40q instead of %.40q", text, p.rest)
	}
	p.rest = rest
	p.chunks++
	if p.chunk != nil {
		p.chunk()
	}
	return nil
}

// end checks a stream that has ended.
func (p *progress) end() error {
	switch {
	case p.rest != "":
		return fmt.Errorf("cut off after %d chunks: %.40q is missing", p.chunks, p.rest)
	case !p.finished:
		return errors.New("no finish reason")
	case !p.usage:
		return errors.New("no usage")
	case !p.done:
		return errors.New("no end mark")
	}
	return nil
}
