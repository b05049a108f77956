package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"modelgateway/llm"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Estimator counts the tokens of calls whose provider reported no usage, with
// OpenAI's o200k vocabulary for every provider. The vocabulary takes some 7 MB and
// is loaded at the first estimate.
type Estimator struct {
	mu         sync.Mutex // one estimate at a time: it occupies a processor, and no client waits for it
	vocabulary *codec.Codec
}

// Sample is the first 64 KiB of a text, and the length of the whole text.
type Sample struct {
	text   []byte
	total  int
	pooled *[]byte
}

// sampleSize is how much of a text is tokenized, in bytes. The rest is assumed to
// have as many tokens per byte.
const sampleSize = 64 << 10

// samples are the buffers of released samples.
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

// Len is the length of the whole text in bytes.
func (s *Sample) Len() int { return s.total }

// Release empties the sample and returns its buffer to the pool.
func (s *Sample) Release() {
	if s.pooled != nil {
		*s.pooled = s.text[:0]
		samples.Put(s.pooled)
	}
	*s = Sample{}
}

// Count estimates the tokens of a sample's text.
func (e *Estimator) Count(s *Sample) (int64, error) {
	t := tally{estimator: e}
	t.add(string(s.text))
	t.total = s.total
	return t.sum()
}

// tally sums the tokens of several texts.
type tally struct {
	estimator      *Estimator
	counted, total int   // bytes
	tokens         int64 // of the counted bytes
	err            error
}

func (t *tally) add(text string) {
	t.total += len(text)
	part := text[:min(sampleSize-t.counted, len(text))]
	if part == "" || t.err != nil {
		return
	}
	n, err := t.estimator.tokens(part)
	t.counted, t.tokens, t.err = t.counted+len(part), t.tokens+int64(n), err
}

// sum extrapolates the tokens of the counted bytes to all.
func (t *tally) sum() (int64, error) {
	if t.counted == 0 || t.err != nil {
		return 0, t.err
	}
	return t.tokens * int64(t.total) / int64(t.counted), nil
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

// Tokens of a conversation besides its texts, as OpenAI documents them for its own
// models (OpenAI Cookbook, "How to count tokens with tiktoken").
const (
	tokensPerMessage = 3
	tokensPerReply   = 3
	tokensPerMedia   = 1000 // a rough value for a picture, audio or a file
)

// Prompt estimates the tokens of a request.
func (e *Estimator) Prompt(r *llm.Request) (int64, error) {
	texts := tally{estimator: e}
	for text := range r.Source.Texts() {
		texts.add(text)
	}
	size := r.Source.Size()
	n, err := texts.sum()
	if !r.Kind.Writes() {
		return n, err // there are no messages and no reply
	}
	return n + tokensPerReply + tokensPerMessage*int64(size.Messages) + tokensPerMedia*int64(size.Media), err
}

// Characters are those of what is said in the messages of a request, or of the texts that become
// vectors.
func Characters(r *llm.Request) (n int64) {
	c, err := r.Source.Conversation()
	if err != nil {
		for text := range r.Source.Texts() {
			n += int64(utf8.RuneCountInString(text))
		}
		return n
	}
	for i := range c.Messages {
		n += characters(c.Messages[i].Blocks)
	}
	return n
}

func characters(blocks []llm.Block) (n int64) {
	for i := range blocks {
		n += int64(utf8.RuneCountInString(blocks[i].Text))
		if result := blocks[i].Result; result != nil {
			n += characters(result.Content)
		}
	}
	return n
}

// AddEvent adds the text of a stream's event.
func (s *Sample) AddEvent(e *llm.Event) {
	s.add(e.Text)
	if e.Call != nil {
		s.add(e.Call.Name)
		s.add(e.Call.Arguments)
	}
}

// AddAnswer adds the text of a whole answer.
func (s *Sample) AddAnswer(answer *llm.Answer) {
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
