package webtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// isMessages says whether the answer to a request has the form of Anthropic's API, its
// errors included.
func isMessages(req *http.Request, known bool) bool {
	path := req.URL.Path
	for _, own := range []string{"/v1/messages", "/v1/complete", "/v1/files", "/v1/skills"} {
		if rest, ok := strings.CutPrefix(path, own); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return len(req.Header.Values("anthropic-version")) > 0 && (!known || strings.HasPrefix(path, "/v1/models"))
}

// messageStream is the grammar of the Messages API: its state after the events so far.
// Unknown events, blocks and deltas are taken: a model of Anthropic may send them.
type messageStream struct {
	media   media
	begun   bool
	blocks  int    // that have begun
	open    string // the type of the block that is open; empty = none
	ended   bool   // message_delta came
	stopped bool
	failed  bool
}

// messageEvent has the members that the order of a stream depends on.
type messageEvent struct {
	Type         string `json:"type"`
	Index        int    `json:"index"`
	ContentBlock struct {
		Type string `json:"type"`
	} `json:"content_block"`
	Delta struct {
		Type string `json:"type"`
	} `json:"delta"`
}

// plain has the one kind of line end that events looks for: a model of Anthropic may use
// another one.
func (*messageStream) plain(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(body, []byte("\r"), []byte("\n"))
}

func (s *messageStream) event(block []byte) error {
	name, data := fields(block)
	var e messageEvent
	switch err := json.Unmarshal(data, &e); {
	case s.stopped || s.failed:
		return fmt.Errorf("%s comes after the end", clip(block))
	case err != nil:
		return fmt.Errorf("read %s: %w", clip(block), err)
	case e.Type != name:
		return fmt.Errorf("the line event is %q, and the type %q", name, e.Type)
	case name == "error":
		s.failed = true
		return checkJSON(s.media.failure, data)
	}
	if err := checkJSON(s.media.event, data); err != nil {
		return err
	}
	if !s.begun && name != "message_start" && name != "ping" {
		return fmt.Errorf("%s comes before message_start", name)
	}
	return s.step(&e)
}

// step takes an event of a known form.
func (s *messageStream) step(e *messageEvent) error {
	switch e.Type {
	case "message_start":
		if s.begun {
			return errors.New("message_start comes a second time")
		}
		s.begun = true
	case "content_block_start":
		if s.open != "" || e.Index != s.blocks || s.ended {
			return fmt.Errorf("block %d begins after %d blocks, while %q is open", e.Index, s.blocks, s.open)
		}
		s.blocks, s.open = s.blocks+1, e.ContentBlock.Type
	case "content_block_delta":
		if s.open == "" || e.Index != s.blocks-1 {
			return fmt.Errorf("a delta of block %d, which is not open", e.Index)
		}
		return s.fits(e.Delta.Type)
	case "content_block_stop":
		if s.open == "" || e.Index != s.blocks-1 {
			return fmt.Errorf("block %d ends, and is not open", e.Index)
		}
		s.open = ""
	case "message_delta":
		if s.open != "" {
			return fmt.Errorf("message_delta comes while a block %q is open", s.open)
		}
		s.ended = true
	case "message_stop":
		if !s.ended {
			return errors.New("message_stop comes before message_delta")
		}
		s.stopped = true
	}
	return nil
}

// fits checks that a delta is one of the open block's type.
func (s *messageStream) fits(delta string) error {
	of := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use"}
	if want := of[delta]; want != "" && !strings.HasSuffix(s.open, want) {
		return fmt.Errorf("a %s in a block %q", delta, s.open)
	}
	return nil
}

func (s *messageStream) end(body []byte) error {
	if !bytes.HasSuffix(s.plain(body), []byte("\n\n")) {
		return errors.New("the stream ends inside an event")
	}
	if !s.stopped && !s.failed {
		return errors.New("the stream ends without message_stop and without an error")
	}
	return nil
}

// fields are the type and the data of an event.
func fields(block []byte) (name string, data []byte) {
	for line := range bytes.Lines(block) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if value, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			name = strings.TrimPrefix(string(value), " ")
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	return name, data
}
