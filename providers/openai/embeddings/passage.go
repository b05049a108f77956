package embeddings

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

// piece is the memory of an answer with vectors. Shorter answers are passed on only when
// they are whole.
type piece [64 << 10]byte

var pieces = sync.Pool{New: func() any { return new(piece) }}

// passage passes the bytes of an answer on, as many as a piece has at a time.
type passage struct {
	ctx    context.Context //nolint:containedctx // the stream ends with the call
	client *upstream.Client
	body   io.ReadCloser
	piece  *piece
	size   int  // bytes in piece
	ended  bool // the body has
	seen   outline
	head   llm.Head
	usage  *llm.Usage // of an answer that has ended
}

func (p *passage) close() {
	_ = p.body.Close()
	pieces.Put(p.piece)
}

var errNoVectors = errors.New("the answer has no vectors")

// begin reads the first piece, and refuses what is no answer with vectors.
func (p *passage) begin() error {
	if err := p.read(); err != nil {
		return err
	}
	if !p.seen.listed {
		return p.client.Malformed(errNoVectors)
	}
	return nil
}

// read fills the piece.
func (p *passage) read() error {
	p.size = 0
	for p.size < len(p.piece) && !p.ended {
		n, err := p.body.Read(p.piece[p.size:])
		p.size += n
		switch {
		case errors.Is(err, io.EOF):
			p.ended = true
		case err != nil:
			return p.client.Broken(p.ctx, err)
		}
	}
	if p.seen.add(p.piece[:p.size]); p.ended {
		return p.end()
	}
	return nil
}

// end reads what is outside of the vectors.
func (p *passage) end() error {
	var told struct {
		Model string `json:"model"`
		Usage struct {
			Prompt int64 `json:"prompt_tokens"`
			Total  int64 `json:"total_tokens"`
		} `json:"usage"`
		Error *wire.Problem `json:"error"`
	}
	text, err := p.seen.whole()
	if err == nil {
		err = json.Unmarshal(text, &told, wire.Lenient)
	}
	switch {
	case err != nil:
		return p.client.Malformed(err)
	case told.Error != nil:
		return p.client.Refused(told.Error.Refusal(http.StatusInternalServerError))
	}
	p.head.Model = told.Model
	p.usage = &llm.Usage{Input: told.Usage.Prompt, Total: told.Usage.Total}
	return nil
}

// stream yields the pieces, the last with the usage.
func (p *passage) stream(yield func(*llm.Event, error) bool) {
	defer p.close()
	for {
		e := llm.Event{Kind: llm.EventAnswer, Head: &p.head, Raw: p.piece[:p.size], RawDialect: llm.Embeddings, Usage: p.usage}
		if !yield(&e, nil) || p.ended {
			return
		}
		if err := p.read(); err != nil {
			yield(nil, err)
			return
		}
	}
}

// outline is an answer without what is in its lists. They have the vectors, of which nothing
// is read: only where each ends.
type outline struct {
	text    []byte
	depth   int  // of brackets inside of a list; 0 = outside
	fresh   bool // a list has just begun
	numbers bool // inside of a list of numbers
	quoted  bool // inside of a string
	escaped bool // after a backslash
	listed  bool // a list is not empty
}

// maxOutline bounds the outline of an answer.
const maxOutline = 64 << 10

var (
	errOutline  = errors.New("too much of the answer is outside of its vectors")
	errUnclosed = errors.New("the answer ends inside of a list")
)

// add reads the next bytes of an answer.
func (o *outline) add(text []byte) {
	for len(text) > 0 {
		n := 1
		switch {
		case o.quoted:
			n = o.addQuoted(text)
		case o.numbers:
			if n = bytes.IndexByte(text, ']'); n < 0 {
				return
			}
			o.numbers = false
			text = text[n:]
			continue
		default:
			o.addByte(text[0])
		}
		if o.depth == 0 && len(o.text) <= maxOutline {
			o.text = append(o.text, text[:n]...)
		}
		text = text[n:]
	}
}

// addQuoted returns how many bytes of the text are of the string.
func (o *outline) addQuoted(text []byte) int {
	if o.escaped {
		o.escaped = false
		return 1
	}
	end := bytes.IndexByte(text, '"')
	n := end + 1
	if end < 0 {
		n = len(text)
	}
	if at := bytes.IndexByte(text[:n], '\\'); at >= 0 {
		o.escaped = true
		return at + 1
	}
	o.quoted = end < 0
	return n
}

// addByte reads a byte outside of strings and of lists of numbers.
func (o *outline) addByte(c byte) {
	fresh := o.fresh
	if c > ' ' {
		o.fresh = false
		o.listed = o.listed || fresh && c != ']'
	}
	switch {
	case c == '"':
		o.quoted = true
	case c == '[', c == '{' && o.depth > 0:
		if o.depth == 0 {
			o.text = append(o.text, c)
		}
		o.depth++
		o.fresh = c == '['
	case o.depth > 0 && (c == ']' || c == '}'):
		o.depth--
	case fresh && (c == '-' || '0' <= c && c <= '9'):
		o.numbers = true
	}
}

// whole is the outline of an answer that has ended.
func (o *outline) whole() ([]byte, error) {
	switch {
	case o.depth > 0:
		return nil, errUnclosed
	case len(o.text) > maxOutline:
		return nil, errOutline
	}
	return o.text, nil
}
