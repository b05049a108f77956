package tokens

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"modelgateway/models/api"
)

// Estimator counts the tokens of calls whose provider did not: as OpenAI's
// o200k vocabulary has them, whoever the provider is. The vocabulary takes some
// 7 MB, and is there from the first estimate on.
type Estimator struct {
	mu         sync.Mutex // one at a time: nobody waits for an estimate, and it takes a processor
	vocabulary *codec.Codec
}

// Sample is the beginning of a text, and how long all of it is.
type Sample struct {
	text   []byte
	total  int
	pooled *[]byte
}

// sampleSize is how much of a text is looked at. What comes after it is taken
// to have as many tokens a byte.
const sampleSize = 64 << 10

// samples are the room of those that are over.
var samples = sync.Pool{New: func() any { return new([]byte) }}

func (s *Sample) add(text string) {
	s.total += len(text)
	room := sampleSize - len(s.text)
	if room <= 0 || text == "" {
		return
	}
	if s.pooled == nil {
		s.pooled = samples.Get().(*[]byte)
		s.text = (*s.pooled)[:0]
	}
	s.text = append(s.text, text[:min(room, len(text))]...)
}

// Len is how many bytes the whole text has.
func (s *Sample) Len() int { return s.total }

// Drop gives the sample's room back. The sample is empty then.
func (s *Sample) Drop() {
	if s.pooled != nil {
		*s.pooled = s.text[:0]
		samples.Put(s.pooled)
	}
	*s = Sample{}
}

// Count is about how many tokens a sample's text has.
func (e *Estimator) Count(s *Sample) (int64, error) {
	t := tally{estimator: e}
	t.add(string(s.text))
	t.total = s.total
	return t.sum()
}

// tally adds up the tokens of texts, which are counted one by one.
type tally struct {
	estimator     *Estimator
	looked, total int   // bytes
	tokens        int64 // of those that were looked at
	err           error
}

func (t *tally) add(text string) {
	t.total += len(text)
	part := text[:min(sampleSize-t.looked, len(text))]
	if part == "" || t.err != nil {
		return
	}
	n, err := t.estimator.tokens(part)
	t.looked, t.tokens, t.err = t.looked+len(part), t.tokens+int64(n), err
}

// sum is the tokens of all, of which those that were not looked at are taken to
// be like the others.
func (t *tally) sum() (int64, error) {
	if t.looked == 0 || t.err != nil {
		return 0, t.err
	}
	return t.tokens * int64(t.total) / int64(t.looked), nil
}

func (e *Estimator) tokens(text string) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.vocabulary == nil {
		e.vocabulary = codec.NewO200kBase()
	}
	n, err := e.vocabulary.Count(strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		return 0, fmt.Errorf("tokenizer: %w", err)
	}
	return n, nil
}

// What a chat costs beside its texts, as OpenAI documents it for its own
// models.
const (
	tokensPerMessage = 3
	tokensPerReply   = 3
	tokensPerMedia   = 1000 // a picture, a sound or a file, about
)

// Prompt is about how many tokens a request has.
func (e *Estimator) Prompt(r *api.ChatRequest) (int64, error) {
	texts := tally{estimator: e}
	fixed := int64(tokensPerReply)
	for i := range r.Messages {
		fixed += tokensPerMessage + tokensPerMedia*addMessage(&texts, &r.Messages[i])
	}
	for i := range r.Tools {
		if f := r.Tools[i].Function; f != nil {
			addFunction(&texts, f)
		}
		texts.add(string(r.Tools[i].Custom))
	}
	for i := range r.Functions {
		addFunction(&texts, &r.Functions[i])
	}
	n, err := texts.sum()
	return n + fixed, err
}

func addMessage(texts *tally, m *api.Message) (media int64) {
	texts.add(m.Role)
	if len(m.Content.Parts) == 0 && m.Content.Set {
		texts.add(m.Content.Text())
	}
	for i := range m.Content.Parts {
		p := &m.Content.Parts[i]
		if p.ImageURL != nil || p.InputAudio != nil || p.File != nil {
			media++
		}
		texts.add(p.Text)
		texts.add(p.Refusal)
	}
	texts.add(m.Name)
	for i := range m.ToolCalls {
		if f := m.ToolCalls[i].Function; f != nil {
			texts.add(f.Name)
			texts.add(f.Arguments)
		}
		texts.add(string(m.ToolCalls[i].Custom))
	}
	if f := m.FunctionCall; f != nil {
		texts.add(f.Name)
		texts.add(f.Arguments)
	}
	return media + int64(len(m.Images))
}

func addFunction(texts *tally, f *api.Function) {
	texts.add(f.Name)
	texts.add(f.Description)
	texts.add(string(f.Parameters))
}

// Hear adds what a chunk says to the text of an answer.
func (s *Sample) Hear(chunk *api.ChatChunk) {
	for i := range chunk.Choices {
		d := &chunk.Choices[i].Delta
		if d.Content != nil {
			s.add(*d.Content)
		}
		if d.Refusal != nil {
			s.add(*d.Refusal)
		}
		s.add(d.ReasoningContent)
		for j := range d.ToolCalls {
			if f := d.ToolCalls[j].Function; f != nil {
				s.add(f.Name)
				s.add(f.Arguments)
			}
			s.add(string(d.ToolCalls[j].Custom))
		}
		if f := d.FunctionCall; f != nil {
			s.add(f.Name)
			s.add(f.Arguments)
		}
	}
}

// Read adds what a whole answer says.
func (s *Sample) Read(answer *api.ChatCompletion) {
	opened := *answer // who it is for keeps it as it is
	if opened.Open() == nil {
		answer = &opened
	}
	for i := range answer.Choices {
		m := &answer.Choices[i].Message
		if m.Content != nil {
			s.add(*m.Content)
		}
		if m.Refusal != nil {
			s.add(*m.Refusal)
		}
		s.add(m.ReasoningContent)
		for j := range m.ToolCalls {
			if f := m.ToolCalls[j].Function; f != nil {
				s.add(f.Name)
				s.add(f.Arguments)
			}
			s.add(string(m.ToolCalls[j].Custom))
		}
		if f := m.FunctionCall; f != nil {
			s.add(f.Name)
			s.add(f.Arguments)
		}
	}
}
