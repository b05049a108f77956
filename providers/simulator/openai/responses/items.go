package responses

import (
	"slices"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// item is one of an output, of any type, as it begins and when it is done. What is streamed of
// it is the text.
type item struct {
	id, kind   string
	open, done rawjson.Object
	name, text string
}

func outputText(text string) rawjson.Object {
	return rawjson.Object{"type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", text}
}

func summaryText(text string) rawjson.Object {
	return rawjson.Object{"type", "summary_text", "text", text}
}

// output turns a reply into items.
func (q *Request) output(r reply.Reply) []item {
	if q.compacts {
		id := wire.NewID("cmp_")
		all := rawjson.Object{"id", id, "type", "compaction", "encrypted_content", Encrypt(r.Text)}
		return []item{{id: id, kind: "compaction", open: all, done: all}}
	}
	var all []item
	if r.Reasoning != "" {
		all = append(all, q.thought(r.Reasoning))
	}
	if r.Text != "" || len(r.Calls) == 0 && r.End != reply.EndLength {
		all = append(all, q.message(r))
	}
	for _, c := range r.Calls {
		all = append(all, call(c))
	}
	return all
}

func (q *Request) message(r reply.Reply) item {
	id, status := wire.NewID("msg_"), completed
	if r.End == reply.EndLength && len(r.Calls) == 0 {
		status = incomplete
	}
	message := func(status string, content ...any) rawjson.Object {
		o := rawjson.Object{"id", id, "type", "message", "status", status, "content", content}
		switch {
		case q.phases() && len(r.Calls) > 0:
			o = append(o, "phase", "commentary")
		case q.phases():
			o = append(o, "phase", "final_answer")
		}
		return append(o, "role", "assistant")
	}
	return item{id: id, kind: "message", text: r.Text, open: message(inProgress), done: message(status, outputText(r.Text))}
}

func call(c reply.Call) item {
	i, input, status := item{id: wire.NewID("fc_"), kind: "function_call", name: c.Name, text: c.Arguments}, "arguments", completed
	if c.Custom {
		i.id, i.kind, input = wire.NewID("ctc_"), "custom_tool_call", "input"
	}
	if !c.Complete {
		status = incomplete
	}
	called := wire.NewID("call_")
	object := func(status, text string) rawjson.Object {
		o := rawjson.Object{"id", i.id, "type", i.kind, "status", status, input, text, "call_id", called, "name", c.Name}
		if c.Namespace != "" {
			o = append(o, "namespace", c.Namespace)
		}
		return o
	}
	i.open, i.done = object(inProgress, ""), object(status, c.Arguments)
	return i
}

// thought is the reasoning: a summary where one is asked for, and encrypted content where
// the request includes it.
func (q *Request) thought(text string) item {
	i := item{id: wire.NewID("rs_"), kind: "reasoning"}
	o := rawjson.Object{"id", i.id, "type", i.kind}
	if slices.Contains(q.Include, "reasoning.encrypted_content") {
		o = append(o, "encrypted_content", Encrypt(text))
	}
	summary := []any{}
	if q.Reasoning.Summary+q.Reasoning.Former != "" {
		i.text, summary = text, []any{summaryText(text)}
	}
	i.open = append(slices.Clip(o), "summary", []any{})
	i.done = append(slices.Clip(o), "summary", summary)
	return i
}
