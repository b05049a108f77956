package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/providers"
	"modelgateway/providers/sse"
)

// Outcome is the result of the gateway, or of one provider, for one answer of
// its upstream.
type Outcome struct {
	Choice            // of index 0; the part that came before an error
	Others   []Choice // of the other indices, in their order
	Usage    *chat.Usage
	Failure  *Failure // nil when the answer was whole
	Breaches []error  // rules of the format that were broken
}

// Choice is one of the n answers.
type Choice struct {
	Index        int
	Text         string
	Reasoning    string
	Refusal      string
	Details      []chat.ReasoningDetail // fragments of one block put together
	ToolCalls    []ToolCall
	Images       []string
	Logprobs     string // the raw JSON of all fragments, one after the other
	FinishReason string

	Ending      string            // the raw JSON beside the finish reason
	Annotations []chat.Annotation // without their indices
	Sound       string            // the base64 of all fragments, one after the other
	Files       []string          // data URLs of what is neither an image nor a sound
}

// Failure is an error as clients see it.
type Failure struct {
	Status int // HTTP; 0 where it is not said, after the first byte of a stream
	Type   string
	Code   string
}

// FromCompletion is the outcome of a whole answer.
func FromCompletion(c *chat.Completion) Outcome {
	var o Outcome
	if c == nil {
		return breach("there is neither an answer nor an error")
	}
	o.demand(c.Object == chat.ObjectCompletion, "object is %q", c.Object)
	o.demand(c.ID != "" && c.Model != "", "id is %q and model %q", c.ID, c.Model)
	o.Usage = c.Usage
	var choices []Choice
	for i := range c.Choices {
		choices = append(choices, o.choice(&c.Choices[i]))
	}
	o.put(choices)
	return o
}

func (o *Outcome) choice(c *chat.Choice) Choice {
	m := &c.Message
	out := Choice{
		Index: c.Index, Reasoning: m.ReasoningContent, Details: m.ReasoningDetails,
		Logprobs: string(c.Logprobs), FinishReason: c.FinishReason, Ending: string(c.Extra),
	}
	out.AddExtra(m.Extra)
	if m.Content != nil {
		out.Text = *m.Content
	}
	if m.Refusal != nil {
		out.Refusal = *m.Refusal
	}
	for _, image := range m.Images {
		out.Images = append(out.Images, image.ImageURL.URL)
	}
	for _, call := range m.ToolCalls {
		o.demand(call.ID != "" && call.Type != "", "a tool call has the id %q and the type %q", call.ID, call.Type)
		flat := ToolCall{ID: call.ID}
		if call.Function != nil {
			flat.Name, flat.Arguments = call.Function.Name, call.Function.Arguments
		}
		out.ToolCalls = append(out.ToolCalls, flat)
	}
	o.demand(m.Role == "assistant", "the role is %q", m.Role)
	o.demand(c.FinishReason != "", "choice %d has no finish reason", c.Index)
	silent := len(m.ToolCalls) > 0 || m.Refusal != nil || m.FunctionCall != nil
	o.demand(m.Content != nil || silent, "content is null, and there is nothing else")
	o.demand(m.Content == nil || *m.Content != "" || len(m.ToolCalls) == 0, "content beside tool calls is empty, not null")
	return out
}

// put takes the choices over, the one of index 0 as the first.
func (o *Outcome) put(choices []Choice) {
	o.demand(len(choices) > 0, "there are no choices")
	slices.SortFunc(choices, func(a, b Choice) int { return a.Index - b.Index })
	if len(choices) > 0 && choices[0].Index == 0 {
		o.Choice, choices = choices[0], choices[1:]
	}
	o.Others = choices
}

// FromError is the outcome of a call that failed before anything came.
func FromError(err error) Outcome {
	var o Outcome
	o.fail(err)
	return o
}

// fail notes an error of a provider, which must be an *api.Error or
// a *providers.Refusal.
func (o *Outcome) fail(err error) {
	_, told := errors.AsType[*api.Error](err)
	if _, refused := errors.AsType[*providers.Refusal](err); !told && !refused {
		o.Failure = &Failure{}
		o.breach("the error is not one for clients: %v", err)
		return
	}
	e := api.AsError(err)
	o.Failure = &Failure{Status: e.Status, Type: e.Type, Code: e.Code}
	o.demand(e.Message != "", "the error has no message")
}

// FromAnswer is the outcome of an answer of the gateway that is not a stream.
func FromAnswer(status int, body []byte) Outcome {
	if status >= http.StatusBadRequest {
		return FromErrorBody(status, body)
	}
	var c chat.Completion
	if err := json.Unmarshal(body, &c); err != nil {
		return breach("the answer is not a completion: %v", err)
	}
	return FromCompletion(&c)
}

// FromErrorBody is the outcome of {"error":{…}}; status is 0 for the last
// event of a stream.
func FromErrorBody(status int, body []byte) Outcome {
	var answer struct {
		Error *struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Code    string `json:"code"`
		} `json:"error"`
	}
	err := json.Unmarshal(body, &answer)
	if err != nil || answer.Error == nil {
		o := breach("an error has no error object: %v", err)
		o.Failure = &Failure{Status: status}
		return o
	}
	o := Outcome{Failure: &Failure{Status: status, Type: answer.Error.Type, Code: answer.Error.Code}}
	o.demand(answer.Error.Message != "", "the error has no message")
	return o
}

// FromStream is the outcome of a stream of the gateway: raw is the body of an
// answer of status 200, up to where it ended.
func FromStream(raw []byte) Outcome {
	const done = "[DONE]"
	var c collector
	events := sse.NewReader(bytes.NewReader(raw))
	ended, failed := false, false
	for {
		event, err := events.Next()
		if err != nil {
			break // io.EOF: the source is memory
		}
		c.out.demand(!ended, "something follows the end of the stream: %.80s", event.Data)
		switch {
		case string(event.Data) == done:
			ended = true
		case bytes.HasPrefix(event.Data, []byte(`{"error"`)):
			ended, failed = true, true
			last := FromErrorBody(0, event.Data)
			c.out.Failure, c.out.Breaches = last.Failure, append(c.out.Breaches, last.Breaches...)
		default:
			chunk := new(chat.Chunk)
			if err := json.Unmarshal(event.Data, chunk); err != nil {
				c.out.breach("an event is not a chunk: %v", err)
				continue
			}
			c.add(chunk)
		}
	}
	if !ended && !failed {
		c.out.Failure = &Failure{}
		c.out.breach("the stream ends with neither [DONE] nor an error")
	}
	return c.finish()
}

// FromChunks is the outcome of a provider's stream, as Chunks reads it. It ranges
// over all of it.
func FromChunks(stream iter.Seq2[*chat.Chunk, error]) Outcome {
	var c collector
	failed, paused := false, true
	for chunk, err := range stream {
		c.out.demand(!failed, "something follows an error")
		switch {
		case err != nil:
			failed = true
			c.out.demand(chunk == nil, "a chunk comes with an error")
			c.out.fail(err)
		case chunk == nil:
			c.out.demand(!paused, "a pause with no chunk before it")
			paused = true
		default:
			paused = false
			c.add(chunk)
		}
	}
	return c.finish()
}

func breach(format string, args ...any) Outcome {
	var o Outcome
	o.breach(format, args...)
	return o
}

func (o *Outcome) breach(format string, args ...any) {
	const most = 5
	if len(o.Breaches) < most {
		o.Breaches = append(o.Breaches, fmt.Errorf(format, args...))
	}
}

func (o *Outcome) demand(kept bool, format string, args ...any) {
	if !kept {
		o.breach(format, args...)
	}
}
