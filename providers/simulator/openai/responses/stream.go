package responses

import (
	"fmt"
	"strings"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// writer collects the events of a stream and numbers them.
type writer struct {
	wire.Stream
	obfuscates bool
}

func (w *writer) event(kind string, members ...any) []byte {
	data := append(rawjson.Object{"type", kind}, members...)
	if w.obfuscates && strings.HasSuffix(kind, ".delta") {
		data = append(data, "obfuscation", strings.Repeat("x", 16-len(rawjson.Encode(data))%16))
	}
	data = append(data, "sequence_number", len(w.Events))
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, rawjson.Encode(data))
}

func (w *writer) add(kind string, members ...any) {
	w.Events = append(w.Events, w.event(kind, members...))
}

// stream writes an answer in events, with the fault that a prompt asks for.
func (q *Request) stream(a response, fault reply.Fault) wire.Stream {
	w := &writer{obfuscates: q.StreamOptions.IncludeObfuscation == nil || *q.StreamOptions.IncludeObfuscation}
	opening := a
	opening.status, opening.completed, opening.output, opening.usage = inProgress, nil, []item{}, nil
	w.add("response.created", "response", opening.object())
	w.add("response.in_progress", "response", opening.object())
	for index, i := range a.output {
		w.item(index, i)
	}
	w.add("response."+a.status, "response", a.object())
	return w.Inject(fault, failed(opening, len(w.Events)/2))
}

// failed are the events with which a stream fails, the first of which has the number.
func failed(r response, number int) []byte {
	const message = "The server had an error while processing your request. Sorry about that!"
	w := &writer{}
	w.Events = make([][]byte, number)
	w.add("error", "error", rawjson.Object{"type", "server_error", "code", "server_error", "message", message, "param", nil})
	r.status, r.failure = "failed", rawjson.Object{"code", "server_error", "message", message}
	w.add("response.failed", "response", r.object())
	return append(w.Events[number], w.Events[number+1]...)
}

func (w *writer) item(index int, i item) {
	at := []any{"item_id", i.ID, "output_index", index}
	opened := i
	if i.Status != "" {
		opened.Status = inProgress
	}
	empty := ""
	switch i.Type {
	case "message":
		opened.Content = &[]part{}
	case "reasoning":
		opened.Summary = &[]part{}
	case "function_call":
		opened.Arguments = &empty
	case "custom_tool_call":
		opened.Input = &empty
	}
	w.add("response.output_item.added", "item", opened, "output_index", index)
	switch i.Type {
	case "message":
		w.message(*i.Content, at)
	case "reasoning":
		w.summary(*i.Summary, at)
	case "function_call":
		w.pieces("response.function_call_arguments.delta", reply.Fragments(*i.Arguments), at)
		w.add("response.function_call_arguments.done", append(at, "arguments", *i.Arguments, "name", i.Name)...)
	case "custom_tool_call":
		w.pieces("response.custom_tool_call_input.delta", reply.Fragments(*i.Input), at)
		w.add("response.custom_tool_call_input.done", append(at, "input", *i.Input)...)
	}
	w.add("response.output_item.done", "item", i, "output_index", index)
}

func (w *writer) pieces(kind string, pieces []string, at []any) {
	for _, piece := range pieces {
		w.add(kind, append(at, "delta", piece)...)
	}
}

func (w *writer) message(parts []part, item []any) {
	for n, p := range parts {
		at := append(item, "content_index", n)
		w.add("response.content_part.added", append(at, "part", outputText(""))...)
		w.pieces("response.output_text.delta", reply.Split(p.Text), append(at, "logprobs", []string{}))
		w.add("response.output_text.done", append(at, "logprobs", []string{}, "text", p.Text)...)
		w.add("response.content_part.done", append(at, "part", p)...)
	}
}

func (w *writer) summary(parts []part, item []any) {
	for n, p := range parts {
		at := append(item, "summary_index", n)
		w.add("response.reasoning_summary_part.added", append(at, "part", part{Type: p.Type})...)
		w.pieces("response.reasoning_summary_text.delta", reply.Split(p.Text), at)
		w.add("response.reasoning_summary_text.done", append(at, "text", p.Text)...)
		w.add("response.reasoning_summary_part.done", append(at, "part", p)...)
	}
}
