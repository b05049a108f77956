package messages

import (
	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

var (
	_ llm.Continuing = (*Request)(nil)
	_ llm.Comparing  = (*Request)(nil)
)

// previousMessage is the member of thread and of diagnostics that names an earlier answer.
const previousMessage = "previous_message_id"

// Previous is the id of the answer whose thread the request goes on in: Anthropic has the
// conversation before it (beta message-threads-2026-08-12). Empty where the request has its
// whole conversation itself.
func (r *Request) Previous() string {
	return scan.Text(scan.Member(r.members[memberThread], previousMessage))
}

// Compared is the id of the answer whose prompt Anthropic compares with that of the request,
// to say why its cache was missed.
func (r *Request) Compared() string {
	return scan.Text(scan.Member(r.members[memberDiagnostics], previousMessage))
}

// Keeps is false: the gateway keeps no thread itself.
func (r *Request) Keeps() bool { return false }

// Threads says whether Anthropic shall keep the conversation.
func (r *Request) Threads() bool { return llm.Given(r.members[memberThread]) }

// NamesAnswer says whether a later request may name the answer to this one.
func (r *Request) NamesAnswer() bool { return r.Threads() || llm.Given(r.members[memberDiagnostics]) }

// checkThread refuses a thread, in the form upon which Anthropic's SDKs send the whole
// conversation: a model of another provider would see a part of it only.
func (r *Request) checkThread() *api.Error {
	switch {
	case !r.Threads():
		return nil
	case r.Previous() != "":
		return api.ThreadNotFound()
	}
	return api.ThreadUnsupported("only Anthropic models keep a conversation")
}
