package tokens

import (
	"fmt"
	"strings"
	"sync"

	"modelgateway/models/llm"

	"github.com/tiktoken-go/tokenizer/codec"
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
func (e *Estimator) Prompt(r *llm.Request) (int64, error) {
	texts := tally{estimator: e}
	for text := range r.Source.Texts() {
		texts.add(text)
	}
	size := r.Source.Size()
	n, err := texts.sum()
	return n + tokensPerReply + tokensPerMessage*int64(size.Messages) + tokensPerMedia*int64(size.Media), err
}

// Hear adds what an event says to the text of an answer.
func (s *Sample) Hear(e *llm.Event) {
	s.add(e.Text)
	if e.Call != nil {
		s.add(e.Call.Name)
		s.add(e.Call.Arguments)
	}
}

// Read adds what a whole answer says.
func (s *Sample) Read(answer *llm.Answer) {
	for i := range answer.Choices {
		for j := range answer.Choices[i].Blocks {
			b := &answer.Choices[i].Blocks[j]
			s.add(b.Text)
			if b.Call != nil {
				s.add(b.Call.Name)
				s.add(b.Call.Input)
			}
		}
	}
}
