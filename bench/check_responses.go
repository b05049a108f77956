package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// response has the members of an answer or an event of the Responses API that are checked.
type response struct {
	Type  string `json:"type"`
	Delta string `json:"delta"`
	Item  struct {
		Role string `json:"role"`
	} `json:"item"`
	Response *response `json:"response"`

	Status string `json:"status"`
	Output []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"output"`
	Usage *struct {
		Output int `json:"output_tokens"`
	} `json:"usage"`
}

// read decodes an answer or an event of any of the APIs.
func (e *event) read(text []byte) error {
	if !bytes.Contains(text, []byte(`"type":"response.`)) && !bytes.Contains(text, []byte(`"object":"response"`)) {
		return json.Unmarshal(text, e)
	}
	e.response = new(response)
	return json.Unmarshal(text, e.response)
}

// whole verifies a whole answer.
func (r *response) whole() error { return r.holds(answerText) }

// holds checks that a response is complete and has this text.
func (r *response) holds(text string) error {
	switch {
	case r.Status != "completed":
		return fmt.Errorf("status %q", r.Status)
	case len(r.Output) != 1 || len(r.Output[0].Content) != 1 || r.Output[0].Content[0].Text != text:
		return fmt.Errorf("wrong text: %.80v", r.Output)
	case r.Usage == nil || r.Usage.Output == 0:
		return errors.New("no usage")
	}
	return nil
}

func (p *progress) takeResponse(r *response) error {
	switch r.Type {
	case "response.output_item.added":
		p.role = r.Item.Role == "assistant"
	case "response.output_text.delta":
		return p.text(r.Delta)
	case "response.failed", "response.incomplete":
		return fmt.Errorf("an event %s", r.Type)
	case "response.completed":
		if r.Response == nil {
			return errors.New("no response at the end")
		}
		p.finished, p.usage, p.done = true, true, true
		return r.Response.holds(streamText)
	}
	return nil
}
