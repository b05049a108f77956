package wire

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers"
)

// Edit is the changes to the top-level members of a request's bytes.
type Edit struct {
	Server  *providers.Server
	set     []member
	drop    []string // members to leave out
	Ignored []string // members whose loss the client is told
}

// member is a member that is written in place of the client's.
type member struct {
	name    string
	value   jsontext.Value
	by      func(jsontext.Value) jsontext.Value // makes of the client's value the one that is sent; nil = value is sent
	written bool
}

// NewEdit is an edit for a server, with room for the usual changes.
func NewEdit(server *providers.Server) Edit {
	return Edit{Server: server, set: make([]member, 0, 3), drop: make([]string, 0, 8)}
}

// IsEmpty says whether nothing is changed.
func (t *Edit) IsEmpty() bool { return len(t.set)+len(t.drop) == 0 }

// Put writes a member in place of the client's.
func (t *Edit) Put(name string, value jsontext.Value) {
	t.set = append(t.set, member{name: name, value: value})
}

// Change writes a member by the client's value, and value where the client has none; nil = none.
func (t *Edit) Change(name string, value jsontext.Value, by func(jsontext.Value) jsontext.Value) {
	t.set = append(t.set, member{name: name, value: value, by: by})
}

// Takes says whether the server takes a member that OpenAI does not.
func (t *Edit) Takes(name string) bool { return slices.Contains(t.Server.Takes, name) }

// LeaveOut drops a member and records it as ignored, if it is there.
func (t *Edit) LeaveOut(name string, loss bool) {
	t.drop = append(t.drop, name)
	t.NoteIgnored(name, loss)
}

// NoteIgnored records a member as ignored where that is a loss.
func (t *Edit) NoteIgnored(name string, loss bool) {
	if loss && !slices.Contains(t.Ignored, name) {
		t.Ignored = append(t.Ignored, name)
	}
}

// Body writes the request in pieces, member by member, with the changes. What is
// not changed is sent byte for byte; long parts are not copied.
func (t *Edit) Body(raw []byte) [][]byte {
	const long, usual = 1 << 10, 512
	pieces := make([][]byte, 0, 3)
	out := append(make([]byte, 0, min(len(raw), usual)+usual), '{')
	first := true
	for name, value := range jsonbytes.Members(raw) {
		if t.drops(name) {
			continue
		}
		value = t.rewrite(name, value)
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(out, name...), ':')
		if len(value) < long {
			out = append(out, value...)
			continue
		}
		pieces = append(pieces, out, value)
		out = out[len(out):]
	}
	for _, m := range t.set {
		if m.written || m.value == nil {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(append(append(out, '"'), m.name...), `":`...), m.value...)
	}
	return append(pieces, append(out, '}'))
}

func (t *Edit) drops(name jsonbytes.Name) bool {
	for _, d := range t.drop {
		if name.Is(d) {
			return true
		}
	}
	return false
}

// rewrite is the value that replaces a member's.
func (t *Edit) rewrite(name jsonbytes.Name, value jsontext.Value) jsontext.Value {
	for i := range t.set {
		m := &t.set[i]
		if !name.Is(m.name) {
			continue
		}
		if m.written = true; m.by != nil {
			return m.by(value)
		}
		return m.value
	}
	return value
}

// Members of requests for chat completions, and a word for the effort of reasoning.
const (
	EffortMember  = "reasoning_effort"
	NoEffort      = "none"
	StreamOptions = "stream_options"
)

// Adapt leaves out what the server lacks, and writes members under its names.
func (t *Edit) Adapt(raw []byte) {
	noThinking := t.Takes("thinking")
	if len(t.Server.Lacks) == 0 && len(t.Server.Renames) == 0 && !noThinking {
		return
	}
	for name, value := range jsonbytes.Members(raw) {
		member := name.String()
		if slices.Contains(t.Server.Lacks, member) {
			t.LeaveOut(member, member != StreamOptions && asks(member, value))
		}
		if noThinking && member == EffortMember && string(value) == `"`+NoEffort+`"` {
			t.drop = append(t.drop, member)
			t.Put("thinking", jsontext.Value(`{"type":"disabled"}`)) // as DeepSeek is told
		}
		if own, ok := t.Server.Renames[member]; ok {
			t.drop = append(t.drop, member)
			t.Put(own, value)
		}
	}
}

// asks says whether a member asks for something other than what comes without it.
func asks(member string, value jsontext.Value) bool {
	switch string(value) {
	case `null`, `{}`, `[]`, `""`, `0`:
		return false
	case `false`:
		return member == "parallel_tool_calls"
	case `true`:
		return member != "parallel_tool_calls"
	}
	return true
}
