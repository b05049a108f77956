package responses

import (
	"fmt"
	"slices"
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
	at := rawjson.Object{"item_id", i.id, "output_index", index}
	w.add("response.output_item.added", "item", i.open, "output_index", index)
	switch {
	case i.kind == "message":
		at = append(at, "content_index", 0)
		w.add("response.content_part.added", append(at, "part", outputText(""))...)
		w.pieces("response.output_text", reply.Split(i.text), append(at, "logprobs", []any{}), "text", i.text)
		w.add("response.content_part.done", append(at, "part", outputText(i.text))...)
	case i.kind == "reasoning" && i.text != "":
		at = append(at, "summary_index", 0)
		w.add("response.reasoning_summary_part.added", append(at, "part", summaryText(""))...)
		w.pieces("response.reasoning_summary_text", reply.Split(i.text), at, "text", i.text)
		w.add("response.reasoning_summary_part.done", append(at, "part", summaryText(i.text))...)
	case i.kind == "function_call":
		w.pieces("response.function_call_arguments", reply.Fragments(i.text), at, "arguments", i.text, "name", i.name)
	case i.kind == "custom_tool_call":
		w.pieces("response.custom_tool_call_input", reply.Fragments(i.text), at, "input", i.text)
	}
	w.add("response.output_item.done", "item", i.done, "output_index", index)
}

// pieces adds the events of a text: its pieces, and what it is when it is done.
func (w *writer) pieces(kind string, pieces []string, at rawjson.Object, done ...any) {
	for _, piece := range pieces {
		w.add(kind+".delta", append(slices.Clip(at), "delta", piece)...)
	}
	w.add(kind+".done", append(slices.Clip(at), done...)...)
}
