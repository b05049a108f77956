package gemini

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// reader reads the answers of a body one by one, as they arrive. The body is an
// event stream, one JSON object, or, from the stream method without alt=sse, a
// JSON array that arrives piece by piece. Each form may be the answer to either
// method, as a proxy may convert one into another.
type reader struct {
	whole  []byte            // a body that has arrived already, until it is read
	events *sse.Reader       // of an event stream
	values *jsontext.Decoder // of JSON

	inArray bool
	ended   bool // nothing but the end may follow
	count   int  // answers so far
}

const byteOrderMark = "\xef\xbb\xbf"

// newReader waits for the first byte that is not a space, which shows the form.
func newReader(body io.Reader) (*reader, error) {
	const maxSpace = 512
	head := make([]byte, 0, maxSpace)
	for range maxSpace {
		n, err := body.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		text := trimmed(head)
		if len(text) > 0 && (err != nil || !bytes.HasPrefix([]byte(byteOrderMark), text)) {
			return readerOf(head, text, body), nil
		}
		if err == io.EOF || len(head) == cap(head) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return readerOf(head, nil, body), nil
}

// trimmed is the text after spaces and a byte order mark.
func trimmed(head []byte) []byte {
	const spaces = " \t\r\n"
	return bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(head, spaces), []byte(byteOrderMark)), spaces)
}

func readerOf(head, text []byte, body io.Reader) *reader {
	if len(text) == 0 || text[0] != '[' && text[0] != '{' {
		return &reader{events: sse.NewReader(io.MultiReader(bytes.NewReader(head), body))}
	}
	bounded := io.LimitReader(body, upstream.MaxAnswer)
	return &reader{values: jsontext.NewDecoder(io.MultiReader(bytes.NewReader(text), bounded), lenient)}
}

// close ends the reading.
func (r *reader) close() {
	if r.events != nil {
		r.events.Close()
	}
}

// next reads the next answer into a. The error is io.EOF at the end of the
// body where it may end, io.ErrUnexpectedEOF where it may not.
func (r *reader) next(a *answer) error {
	a.reset()
	err := r.decode(a)
	if err == nil {
		r.count++
		return nil
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) decode(a *answer) error {
	switch {
	case r.whole != nil:
		return r.decodeWhole(a)
	case r.ended && r.events == nil:
		return io.EOF
	case r.values != nil:
		return r.decodeValue(a)
	}
	event, err := r.events.Next()
	if errors.Is(err, io.EOF) && !r.ended {
		r.ended = true
		return r.decodeStray(a)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(event.Data, a, lenient)
}

// decodeWhole reads a body that has arrived already, usually with one answer.
func (r *reader) decodeWhole(a *answer) error {
	text := r.whole
	r.whole = nil
	if bytes.HasPrefix(trimmed(text), []byte("{")) && json.Unmarshal(text, a, lenient) == nil {
		r.ended = true
		return nil
	}
	a.reset()
	from, err := newReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	*r = *from
	return r.decode(a)
}

// oneObject reports whether the body is one JSON object, of which nothing is missing once
// it has been read.
func (r *reader) oneObject() bool { return r.events == nil && !r.inArray && r.ended }

func (r *reader) decodeValue(a *answer) error {
	if r.ended {
		return io.EOF
	}
	if r.count == 0 && r.values.PeekKind() == jsontext.KindBeginArray {
		if _, err := r.values.ReadToken(); err != nil {
			return err
		}
		r.inArray = true
	}
	if r.inArray && r.values.PeekKind() == jsontext.KindEndArray {
		r.ended = true
		return io.EOF
	}
	r.ended = !r.inArray
	if err := json.UnmarshalDecode(r.values, a, lenient); !errors.Is(err, io.EOF) {
		return err
	}
	return io.ErrUnexpectedEOF
}

// decodeStray reads the lines of an event stream that belong to no event:
// Google ends a failed stream with the bare error object over several lines.
func (r *reader) decodeStray(a *answer) error {
	text := r.events.Stray()
	if len(text) == 0 {
		return io.EOF
	}
	if at := bytes.IndexAny(text, "{["); at >= 0 {
		if a.Error = readProblem(text[at:]); a.Error != nil {
			return nil
		}
	}
	if r.count == 0 {
		return errNoAnswer // for instance a page of HTML
	}
	return io.EOF
}

var errNoAnswer = errors.New("the body holds no answer")
