package providertest

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// Chunks is a stream as a client of the chat dialect reads it: its events are
// written by the dialect's writer and decoded again. A pause is a nil chunk.
func Chunks(req *llm.Request, stream llm.Stream) iter.Seq2[*chat.Chunk, error] {
	return func(yield func(*chat.Chunk, error) bool) {
		w := chat.NewWriter(req)
		var buf []byte
		for e, err := range stream {
			switch {
			case err != nil:
				var beside *chat.Chunk
				if e != nil {
					beside = new(chat.Chunk)
				}
				if !yield(beside, err) {
					return
				}
				continue // nothing should follow
			case e == nil:
				if !yield(nil, nil) {
					return
				}
				continue
			}
			if buf, err = w.Append(buf[:0], e); err != nil {
				yield(nil, err)
				return
			}
			for event := range bytes.SplitSeq(buf, []byte("\n\n")) {
				if len(event) == 0 {
					continue
				}
				chunk, err := readChunk(event)
				if !yield(chunk, err) || err != nil {
					return
				}
			}
		}
	}
}

func readChunk(event []byte) (*chat.Chunk, error) {
	text, ok := bytes.CutPrefix(event, []byte("data: "))
	if !ok {
		return nil, fmt.Errorf("not an event: %s", event)
	}
	chunk := new(chat.Chunk)
	if err := json.Unmarshal(text, chunk, api.Lenient); err != nil {
		return nil, fmt.Errorf("decode chunk: %w", err)
	}
	return chunk, nil
}

// Completion is a whole answer as a client of the chat dialect reads it.
func Completion(req *llm.Request, stream llm.Stream) (*chat.Completion, error) {
	answer, err := llm.Collect(stream)
	if err != nil {
		return nil, err
	}
	text, err := chat.AppendAnswer(nil, req, answer)
	if err != nil {
		return nil, err
	}
	c := new(chat.Completion)
	if err := json.Unmarshal(text, c, api.Lenient); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return c, nil
}
