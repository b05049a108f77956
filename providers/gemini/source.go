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

// source reads the answers of a body one by one, as they arrive. The body is
// an event stream; or one JSON object; or, from the stream method without
// alt=sse, a JSON array that comes piece by piece. Whatever was asked for, a
// proxy on the way may have turned one into another.
type source struct {
	whole  []byte            // a body that has come already, until it is read
	events *sse.Reader       // of an event stream
	values *jsontext.Decoder // of JSON

	inArray bool
	over    bool // nothing but the end may follow
	read    int  // answers so far
}

const byteOrderMark = "\xef\xbb\xbf"

// open looks at the first byte that is not a space, and waits for it.
func open(body io.Reader) (*source, error) {
	const mostSpace = 512
	head := make([]byte, 0, mostSpace)
	for range mostSpace {
		n, err := body.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		text := trimmed(head)
		if len(text) > 0 && (err != nil || !bytes.HasPrefix([]byte(byteOrderMark), text)) {
			return begin(head, text, body), nil
		}
		if err == io.EOF || len(head) == cap(head) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return begin(head, nil, body), nil
}

// trimmed is what stands behind spaces and a byte order mark.
func trimmed(head []byte) []byte {
	const spaces = " \t\r\n"
	return bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(head, spaces), []byte(byteOrderMark)), spaces)
}

func begin(head, text []byte, body io.Reader) *source {
	if len(text) == 0 || text[0] != '[' && text[0] != '{' {
		return &source{events: sse.NewReader(io.MultiReader(bytes.NewReader(head), body))}
	}
	bounded := io.LimitReader(body, upstream.MaxAnswer)
	return &source{values: jsontext.NewDecoder(io.MultiReader(bytes.NewReader(text), bounded), lenient)}
}

// close ends the reading.
func (s *source) close() {
	if s.events != nil {
		s.events.Close()
	}
}

// next reads the next answer into a. The error is io.EOF at the end of the
// body where it may end, io.ErrUnexpectedEOF where it may not.
func (s *source) next(a *answer) error {
	a.reset()
	err := s.decode(a)
	if err == nil {
		s.read++
		return nil
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *source) decode(a *answer) error {
	switch {
	case s.whole != nil:
		return s.once(a)
	case s.over && s.events == nil:
		return io.EOF
	case s.values != nil:
		return s.value(a)
	}
	event, err := s.events.Next()
	if errors.Is(err, io.EOF) && !s.over {
		s.over = true
		return s.stray(a)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(event.Data, a, lenient)
}

// once reads a body that has come already: mostly it is the one answer.
func (s *source) once(a *answer) error {
	text := s.whole
	s.whole = nil
	if bytes.HasPrefix(trimmed(text), []byte("{")) && json.Unmarshal(text, a, lenient) == nil {
		s.over = true
		return nil
	}
	a.reset()
	from, err := open(bytes.NewReader(text))
	if err != nil {
		return err
	}
	*s = *from
	return s.decode(a)
}

func (s *source) value(a *answer) error {
	if s.over {
		return io.EOF
	}
	if s.read == 0 && s.values.PeekKind() == jsontext.KindBeginArray {
		if _, err := s.values.ReadToken(); err != nil {
			return err
		}
		s.inArray = true
	}
	if s.inArray && s.values.PeekKind() == jsontext.KindEndArray {
		s.over = true
		return io.EOF
	}
	s.over = !s.inArray
	if err := json.UnmarshalDecode(s.values, a, lenient); !errors.Is(err, io.EOF) {
		return err
	}
	return io.ErrUnexpectedEOF
}

// stray reads what stood in an event stream outside its events: Google ends a
// stream that fails with the bare error object over several lines.
func (s *source) stray(a *answer) error {
	text := s.events.Stray()
	if len(text) == 0 {
		return io.EOF
	}
	if at := bytes.IndexAny(text, "{["); at >= 0 {
		if a.Error = readProblem(text[at:]); a.Error != nil {
			return nil
		}
	}
	if s.read == 0 {
		return errNoAnswer // a page of HTML, say
	}
	return io.EOF
}

var errNoAnswer = errors.New("the body holds no answer")
