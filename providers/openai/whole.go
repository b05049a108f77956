package openai

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

var errNotJSON = errors.New("the answer is neither an event stream nor JSON")

// streamed is a whole answer that came in place of a stream, as a stream of one
// event and the end mark, so that nothing of it is lost.
func (x *exchange) streamed(ctx context.Context, whole jsontext.Value) (llm.Stream, error) {
	if whole.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, x.provider.client.Malformed(errNotJSON)
	}
	s := x.newStream(ctx, upstream.NewEvents(io.NopCloser(strings.NewReader("data: "+done+"\n\n"))))
	s.raw = replaced(whole, "choices", chunkChoices)
	err := s.read(s.raw)
	if err == nil && len(s.event.Choices) == 0 {
		err = s.client.Malformed(errNoChoices)
		if problemOf(whole) != nil {
			err = s.failed(whole)
		}
	}
	if err != nil {
		s.upstream.Close()
		return nil, err
	}
	return s.all, nil
}

// chunkChoices are the choices of a whole answer as those of a chunk.
func chunkChoices(choices jsontext.Value) jsontext.Value {
	return each(choices, func(choice jsontext.Value) jsontext.Value {
		out := []byte{'{'}
		for name, value := range scan.Members(choice) {
			literal := []byte(name)
			if name.Is("message") {
				literal = []byte(`"delta"`)
			}
			out = appendMember(out, literal, value)
		}
		return append(out, '}')
	})
}
