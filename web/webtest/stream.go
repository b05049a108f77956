package webtest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const streamEnd = "[DONE]"

// chunk has the fields that the order of a stream depends on.
type chunk struct {
	ID      string         `json:"id"`
	Created int64          `json:"created"`
	Model   string         `json:"model"`
	Choices []chunkChoice  `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type chunkChoice struct {
	Index        int            `json:"index"`
	Delta        jsontext.Value `json:"delta"`
	FinishReason *string        `json:"finish_reason"`
}

type delta struct {
	Role      string         `json:"role"`
	ToolCalls []callFragment `json:"tool_calls"`
}

type callFragment struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
}

// stream is the grammar of chat completions: its state after the events so far.
type stream struct {
	media     media
	requested requested
	first     *chunk
	choices   map[int]*choice
	usage     bool
	done      bool
	failed    bool
}

type choice struct {
	calls    int
	finished bool
}

// grammar is the order of the events of one stream.
type grammar interface {
	// event takes the next event, without the blank line behind it.
	event(block []byte) error
	// end takes the end of a stream that came whole.
	end(body []byte) error
}

// grammars are those that the document can name, as x-event-grammar.
var grammars = map[string]func(media, requested) grammar{
	"chat": func(m media, r requested) grammar {
		return &stream{media: m, requested: r, choices: map[int]*choice{}}
	},
	"messages":  func(m media, _ requested) grammar { return &messageStream{media: m} },
	"responses": func(m media, _ requested) grammar { return &responseStream{media: m} },
}

func checkStream(m media, requested requested, a answer) error {
	if m.grammar == nil || m.event == nil || m.failure == nil {
		return errors.New("the document does not say what the events are")
	}
	s := m.grammar(m, requested)
	body := a.body
	if form, ok := s.(interface{ plain([]byte) []byte }); ok {
		body = form.plain(body)
	}
	var errs []error
	for n, data := range events(body) {
		if err := s.event(data); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", n, err))
			break // after one event out of order the next ones fail too
		}
	}
	if len(errs) == 0 && a.complete {
		errs = append(errs, s.end(a.body))
	}
	return errors.Join(append(errs, checkStreamHeaders(a))...)
}

func checkStreamHeaders(a answer) error {
	if v := a.header.Get("Cache-Control"); !strings.Contains(v, "no-cache") {
		return fmt.Errorf("a stream needs Cache-Control: no-cache, not %q", v)
	}
	if v := a.header.Get("X-Accel-Buffering"); v != "no" {
		return fmt.Errorf("a stream needs X-Accel-Buffering: no, not %q", v)
	}
	if v := a.header.Get("Content-Length"); v != "" {
		return fmt.Errorf("a stream cannot know its Content-Length, here %s", v)
	}
	return nil
}

// events yields the blocks of the body that end in a blank line, without the
// comments. A last block without a blank line is left to stream.end.
func events(body []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for {
			block, rest, ok := bytes.Cut(body, []byte("\n\n"))
			if !ok {
				return
			}
			body = rest
			if isComment(block) {
				continue
			}
			if !yield(n, block) {
				return
			}
			n++
		}
	}
}

func isComment(block []byte) bool {
	for line := range bytes.Lines(block) {
		if line[0] != ':' {
			return false
		}
	}
	return len(block) > 0
}

func (s *stream) event(block []byte) error {
	data, ok := bytes.CutPrefix(block, []byte("data: "))
	if !ok || bytes.ContainsAny(data, "\r\n") {
		return fmt.Errorf("an event is one line that begins with \"data: \", not %q", clip(block))
	}
	switch {
	case s.done:
		return fmt.Errorf("%s comes after %s", clip(data), streamEnd)
	case s.failed:
		return fmt.Errorf("%s comes after an error", clip(data))
	case string(data) == streamEnd:
		s.done = true
		return s.checkFinished()
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("read %s: %w", clip(data), err)
	}
	if c.Error != nil {
		s.failed = true
		return checkJSON(s.media.failure, data)
	}
	if err := checkJSON(s.media.event, data); err != nil {
		return err
	}
	return s.chunk(&c)
}

func (s *stream) chunk(c *chunk) error {
	if s.first == nil {
		s.first = c
	}
	if f := s.first; c.ID != f.ID || c.Created != f.Created || c.Model != f.Model {
		return fmt.Errorf("id, created and model were %q, %d, %q and are %q, %d, %q", f.ID, f.Created, f.Model, c.ID, c.Created, c.Model)
	}
	if s.usage {
		return errors.New("a chunk comes after the usage")
	}
	if len(c.Choices) == 0 {
		return s.takeUsage()
	}
	for i := range c.Choices {
		if err := s.choice(&c.Choices[i]); err != nil {
			return fmt.Errorf("choice %d: %w", c.Choices[i].Index, err)
		}
	}
	return nil
}

func (s *stream) takeUsage() error {
	s.usage = true
	if s.requested.known && !s.requested.StreamOptions.IncludeUsage {
		return errors.New("usage came without being asked for")
	}
	return s.checkFinished()
}

func (s *stream) choice(c *chunkChoice) error {
	var d delta
	if err := json.Unmarshal(c.Delta, &d); err != nil {
		return fmt.Errorf("read delta: %w", err)
	}
	state, begun := s.choices[c.Index]
	switch {
	case !begun && (d.Role == "" || c.FinishReason != nil):
		return errors.New("the first chunk needs the role, and no finish_reason")
	case begun && d.Role != "":
		return errors.New("the role comes a second time")
	case begun && state.finished:
		return errors.New("a chunk comes after the finish_reason")
	case !begun:
		state = &choice{}
		s.choices[c.Index] = state
	}
	if c.FinishReason != nil {
		state.finished = true
		if !isEmpty(c.Delta) {
			return fmt.Errorf("the last chunk needs an empty delta, not %s", clip(c.Delta))
		}
	}
	for _, f := range d.ToolCalls {
		if err := state.call(f); err != nil {
			return fmt.Errorf("tool call %d: %w", f.Index, err)
		}
	}
	return nil
}

func isEmpty(delta jsontext.Value) bool {
	var members map[string]jsontext.Value
	return json.Unmarshal(delta, &members) == nil && len(members) == 0
}

func (c *choice) call(f callFragment) error {
	name := f.Function.Name + f.Custom.Name
	switch {
	case f.Index > c.calls:
		return fmt.Errorf("%d calls came before it", c.calls)
	case f.Index < c.calls && (f.ID != "" || f.Type != "" || name != ""):
		return errors.New("id, type or name come a second time")
	case f.Index < c.calls:
		return nil
	case f.ID == "" || f.Type == "" || name == "":
		return errors.New("the first fragment needs id, type and name")
	}
	c.calls++
	return nil
}

// checkFinished fails unless every choice has its finish_reason.
func (s *stream) checkFinished() error {
	if len(s.choices) == 0 {
		return errors.New("no choice ever came")
	}
	for i := range len(s.choices) {
		state, ok := s.choices[i]
		if !ok {
			return fmt.Errorf("of %d choices, choice %d is missing", len(s.choices), i)
		}
		if !state.finished {
			return fmt.Errorf("choice %d has no finish_reason yet", i)
		}
	}
	return nil
}

func (s *stream) end(body []byte) error {
	if !bytes.HasSuffix(body, []byte("\n\n")) {
		return errors.New("the stream ends inside an event")
	}
	if !s.done && !s.failed {
		return fmt.Errorf("the stream ends without %s and without an error", streamEnd)
	}
	return nil
}
