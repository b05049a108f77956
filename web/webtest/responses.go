package webtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// responseStream is the grammar of the Responses API: its state after the events so far.
// Unknown events, items and parts are taken: a model of OpenAI may send them.
type responseStream struct {
	media  media
	events int            // that have come
	id     string         // of the response; empty = it has not begun
	open   map[int]string // the types of the items that are open, by their index
	next   int            // the smallest index of the next item
	done   map[string]bool
	failed bool // error came
	ended  bool
}

// responseEvent has the members that the order of a stream depends on.
type responseEvent struct {
	Type     string `json:"type"`
	Sequence *int   `json:"sequence_number"`
	Index    *int   `json:"output_index"`
	Item     struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	} `json:"item"`
	Response struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Output []struct {
			ID string `json:"id"`
		} `json:"output"`
	} `json:"response"`
}

// plain has the one kind of line end that events looks for.
func (*responseStream) plain(body []byte) []byte { return (*messageStream)(nil).plain(body) }

func (s *responseStream) event(block []byte) error {
	name, data := fields(block)
	var e responseEvent
	switch err := json.Unmarshal(data, &e); {
	case s.ended:
		return fmt.Errorf("%s comes after the end", clip(block))
	case err != nil:
		return fmt.Errorf("read %s: %w", clip(block), err)
	case e.Type != name:
		return fmt.Errorf("the line event is %q, and the type %q", name, e.Type)
	case e.Sequence != nil && *e.Sequence != s.events: // some models of OpenAI have no numbers
		return fmt.Errorf("%s has the sequence_number %d, not %d", name, *e.Sequence, s.events)
	case s.failed && name != "response.failed":
		return fmt.Errorf("%s comes after an error", clip(block))
	}
	s.events++
	schema := s.media.event
	if name == "error" {
		schema = s.media.failure
	}
	if err := checkJSON(schema, data); err != nil {
		return err
	}
	if s.id == "" && name != "response.created" {
		return fmt.Errorf("%s comes before response.created", name)
	}
	return s.step(&e)
}

// step takes an event of a known form.
func (s *responseStream) step(e *responseEvent) error {
	switch e.Type {
	case "error":
		s.failed = true
		return nil
	case "response.created":
		if s.id != "" {
			return errors.New("response.created comes a second time")
		}
		s.id, s.open, s.done = e.Response.ID, map[int]string{}, map[string]bool{}
		return nil
	case "response.completed", "response.incomplete", "response.failed":
		s.ended = true
		return s.whole(e)
	}
	if e.Response.ID != "" && e.Response.ID != s.id {
		return fmt.Errorf("the response %q is called %q in %s", s.id, e.Response.ID, e.Type)
	}
	if e.Index == nil {
		return nil
	}
	return s.item(e, *e.Index)
}

// item takes an event of an item.
func (s *responseStream) item(e *responseEvent, at int) error {
	_, open := s.open[at]
	switch {
	case e.Type == "response.output_item.added":
		if at < s.next {
			return fmt.Errorf("item %d is added after item %d", at, s.next-1)
		}
		s.open[at], s.next = e.Item.Type, at+1
	case !open:
		return fmt.Errorf("%s is of item %d, which is not open", e.Type, at)
	case e.Type == "response.output_item.done":
		if s.open[at] != e.Item.Type {
			return fmt.Errorf("item %d begins as %q and ends as %q", at, s.open[at], e.Item.Type)
		}
		delete(s.open, at)
		s.done[e.Item.ID] = true
	}
	return nil
}

// whole takes the event that ends a stream.
func (s *responseStream) whole(e *responseEvent) error {
	if e.Response.ID != s.id || "response."+e.Response.Status != e.Type {
		return fmt.Errorf("the response %q ends as %q with the status %q in %s", s.id, e.Response.ID, e.Response.Status, e.Type)
	}
	if e.Type == "response.failed" {
		return nil
	}
	if len(s.open) > 0 {
		return fmt.Errorf("%s comes while items are open: %v", e.Type, s.open)
	}
	for _, item := range e.Response.Output {
		if !s.done[item.ID] {
			return fmt.Errorf("the item %q is only in %s", item.ID, e.Type)
		}
	}
	return nil
}

func (s *responseStream) end(body []byte) error {
	if !bytes.HasSuffix(s.plain(body), []byte("\n\n")) {
		return errors.New("the stream ends inside an event")
	}
	if !s.ended && !s.failed {
		return errors.New("the stream ends without response.completed and without an error")
	}
	return nil
}

// endsResponse says whether the type of an event is that of the last one of a stream. One
// that fails before its first event is whole.
func endsResponse(name string) bool {
	status, ok := strings.CutPrefix(name, "response.")
	return ok && (status == "completed" || status == "incomplete" || status == "failed")
}
