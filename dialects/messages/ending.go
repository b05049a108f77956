package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// The reasons why an answer ends.
const (
	stopEndTurn       = "end_turn"
	stopSequence      = "stop_sequence"
	stopToolUse       = "tool_use"
	stopMaxTokens     = "max_tokens"
	stopContextWindow = "model_context_window_exceeded"
	stopRefusal       = "refusal"
)

// reason says why the answer ends: with calls where it has any that a client can run.
func (b *blocks) reason(e *llm.Ending) string {
	switch {
	case e.Finish == llm.FinishContentFilter:
		return stopRefusal
	case e.Finish == llm.FinishLength && e.NativeReason == stopContextWindow:
		return stopContextWindow
	case e.Finish == llm.FinishLength:
		return stopMaxTokens
	case b.complete > 0, b.calls > 0 && e.Finish == llm.FinishToolCalls:
		return stopToolUse
	case len(b.refusal) > 0:
		return stopRefusal
	case e.StopSequence != "":
		return stopSequence
	}
	return stopEndTurn
}

// appendEnding writes the members that say why the answer ends, without a comma after them.
func (b *blocks) appendEnding(dst []byte, e *llm.Ending) []byte {
	reason := b.reason(e)
	dst = append(append(append(dst, `"stop_reason":"`...), reason...), `","stop_sequence":`...)
	if reason == stopSequence {
		dst = scan.AppendString(dst, e.StopSequence)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"stop_details":`...)
	switch details := e.StopDetails; {
	case reason != stopRefusal:
		dst = append(dst, "null"...)
	case details.Kind() == jsontext.KindBeginObject && details.IsValid():
		dst = append(dst, oneLine(details)...)
	default:
		dst = append(dst, `{"type":"refusal","category":null,"explanation":`...)
		dst = append(appendNullable(dst, string(b.refusal)), '}')
	}
	return append(dst, `,"container":null`...)
}
