package messages

import (
	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// previousMessage is the member of thread and of diagnostics that names an earlier answer.
const previousMessage = "previous_message_id"

// earlier is what the request says of answers before it. The answer of a thread (beta
// message-threads-2026-08-12) has the conversation before it; that of diagnostics is compared
// with this prompt, to say why its cache was missed. Only Anthropic keeps either.
func (r *Request) earlier() *llm.Earlier {
	thread, diagnostics := r.members[memberThread], r.members[memberDiagnostics]
	return &llm.Earlier{
		Previous: jsonbytes.Text(jsonbytes.Member(thread, previousMessage)),
		Compared: jsonbytes.Text(jsonbytes.Member(diagnostics, previousMessage)),
		Threads:  llm.Given(thread), Named: llm.Given(thread) || llm.Given(diagnostics),
	}
}

// checkThread refuses a thread, in the form upon which Anthropic's SDKs send the whole
// conversation: a model of another provider would see a part of it only.
func (r *Request) checkThread() *api.Error {
	switch {
	case !r.common.Earlier.Threads:
		return nil
	case r.common.Earlier.Previous != "":
		return api.ThreadNotFound()
	}
	return api.ThreadUnsupported("only Anthropic models keep a conversation")
}
