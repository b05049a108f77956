package responses

import (
	"slices"

	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// item is one of an output, of any type.
type item struct {
	ID               string  `json:"id"`
	Type             string  `json:"type"`
	Status           string  `json:"status,omitzero"`
	Arguments        *string `json:"arguments,omitzero"`
	Input            *string `json:"input,omitzero"`
	CallID           string  `json:"call_id,omitzero"`
	Name             string  `json:"name,omitzero"`
	Namespace        string  `json:"namespace,omitzero"`
	EncryptedContent string  `json:"encrypted_content,omitzero"`
	Content          *[]part `json:"content,omitzero"`
	Summary          *[]part `json:"summary,omitzero"`
	Phase            string  `json:"phase,omitzero"`
	Role             string  `json:"role,omitzero"`
}

// part is a piece of a message, or of a reasoning's summary.
type part struct {
	Type        string    `json:"type"`
	Annotations *[]string `json:"annotations,omitzero"`
	Logprobs    *[]string `json:"logprobs,omitzero"`
	Text        string    `json:"text"`
}

func outputText(text string) part {
	return part{Type: "output_text", Annotations: &[]string{}, Logprobs: &[]string{}, Text: text}
}

// output turns a reply into items.
func (q *Request) output(r reply.Reply) []item {
	if q.compacts {
		return []item{{ID: wire.NewID("cmp_"), Type: "compaction", EncryptedContent: Encrypt(r.Text)}}
	}
	var all []item
	if r.Reasoning != "" {
		all = append(all, q.thought(r.Reasoning))
	}
	if r.Text != "" || len(r.Calls) == 0 && r.End != reply.EndLength {
		message := item{ID: wire.NewID("msg_"), Type: "message", Status: completed, Content: &[]part{outputText(r.Text)}, Role: "assistant"}
		if r.End == reply.EndLength && len(r.Calls) == 0 {
			message.Status = incomplete
		}
		if q.phases() {
			message.Phase = "final_answer"
			if len(r.Calls) > 0 {
				message.Phase = "commentary"
			}
		}
		all = append(all, message)
	}
	for _, c := range r.Calls {
		call := item{Type: "function_call", Status: completed, CallID: wire.NewID("call_"), Name: c.Name, Namespace: c.Namespace}
		if !c.Complete {
			call.Status = incomplete
		}
		if c.Custom {
			call.Type, call.ID, call.Input = "custom_tool_call", wire.NewID("ctc_"), &c.Arguments
		} else {
			call.ID, call.Arguments = wire.NewID("fc_"), &c.Arguments
		}
		all = append(all, call)
	}
	return all
}

// thought is the reasoning: a summary where one is asked for, and encrypted content where
// the request includes it.
func (q *Request) thought(text string) item {
	i := item{ID: wire.NewID("rs_"), Type: "reasoning", Summary: &[]part{}}
	if q.Reasoning.Summary+q.Reasoning.Former != "" {
		i.Summary = &[]part{{Type: "summary_text", Text: text}}
	}
	if slices.Contains(q.Include, "reasoning.encrypted_content") {
		i.EncryptedContent = Encrypt(text)
	}
	return i
}
