package messages

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// block adds a block of a message. What only Anthropic's models know is left out and
// named.
func (b *builder) block(role llm.Role, at place, kind string, block jsonbytes.Fields) *api.Error {
	if kind == "" {
		return missing(at.path() + ".type")
	}
	if kind != "tool_result" {
		b.turn.spoke(role)
	}
	switch {
	case kind == "text":
		return b.textBlock(at, block)
	case isMedia(kind):
		blocks, err := b.media(at, block)
		b.blocks = append(b.blocks, blocks...)
		return err
	case role == llm.RoleInstructions:
	case role == llm.RoleUser && kind == "tool_result":
		return b.result(at, block)
	case kind == "tool_result" || kind == "tool_use" && role == llm.RoleUser:
		return invalid(at.path(), "`%s` blocks can not be in `%s` messages", kind, roles[role])
	case kind == "tool_use":
		return b.call(at, block)
	case role == llm.RoleAssistant && (kind == "thinking" || kind == "redacted_thinking"):
		return b.thought(at, block)
	case role == llm.RoleAssistant && isHosted(kind):
		b.hostedBlock(at, kind, block)
		return nil
	}
	b.leaveOut(at)
	return nil
}

// leaveOut notes a block that has no place in the common form.
func (b *builder) leaveOut(at place) {
	b.ignored.Put("messages[].content[].type")
	if !b.left {
		b.left, b.unknownAt = true, at
	}
}

// textBlock adds a text that is not empty.
func (b *builder) textBlock(at place, from jsonbytes.Fields) *api.Error {
	block, err := b.readText(at, from)
	if err == nil && block.Text != "" {
		b.blocks = append(b.blocks, block)
	}
	return err
}

func (b *builder) readText(at place, from jsonbytes.Fields) (llm.Block, *api.Error) {
	block := llm.Block{Kind: llm.BlockText, At: at.at()}
	var text jsontext.Value
	for _, f := range from {
		switch string(f.Name) {
		case "type", "citations": // those of an answer mean nothing in its history
		case "text":
			text = f.Value
		case "cache_control":
			block.Cache = llm.Present(f.Value)
		default:
			b.ignored.Add(membersOf(at), f.Name, f.Value)
		}
	}
	switch {
	case !llm.Given(text):
		return block, missing(at.path() + ".text")
	case text.Kind() != jsontext.KindString:
		return block, invalid(at.path()+".text", "Input should be a valid string")
	}
	block.Text = jsonbytes.Text(text)
	return block, nil
}

// membersOf begins the names of the members of such blocks.
func membersOf(at place) string {
	switch {
	case at.item == systemItem:
		return "system[]."
	case at.inner >= 0:
		return "messages[].content[].content[]."
	}
	return "messages[].content[]."
}

// call adds a tool call. What the provider wants back with it may be inside its id.
func (b *builder) call(at place, from jsonbytes.Fields) *api.Error {
	call := &llm.Call{Arguments: jsontext.Value("{}")}
	block := llm.Block{Kind: llm.BlockCall, Call: call, At: at.at()}
	for _, f := range from {
		switch string(f.Name) {
		case "type", "caller":
		case "id":
			call.ClientID = jsonbytes.Text(f.Value)
		case "name":
			call.Name = jsonbytes.Text(f.Value)
		case "input":
			if llm.Given(f.Value) {
				call.Arguments = f.Value
			}
		case "cache_control":
			block.Cache = llm.Present(f.Value)
		default:
			b.ignored.Add(membersOf(at), f.Name, f.Value)
		}
	}
	switch {
	case call.Name == "":
		return missing(at.path() + ".name")
	case call.Arguments.Kind() != jsontext.KindBeginObject:
		return invalid(at.path()+".input", "Input should be a valid dictionary")
	}
	own, thoughts := roundtrip.Unpack(call.ClientID)
	call.ID = b.ids.Unique(own)
	for i := range thoughts {
		t := &thoughts[i]
		if t.Format.SignsCalls() && (t.CallID == "" || t.CallID == own) {
			call.Signature = cmp.Or(call.Signature, t.Data)
			continue
		}
		t.CallID = cmp.Or(t.CallID, own)
		b.blocks = append(b.blocks, llm.Block{Kind: llm.BlockThought, Thought: t, At: at.at()})
	}
	b.turn.called(call, at.item)
	b.blocks = append(b.blocks, block)
	return nil
}

// result adds the result of a call.
func (b *builder) result(at place, from jsonbytes.Fields) *api.Error {
	result := &llm.Result{}
	block := llm.Block{Kind: llm.BlockResult, Result: result, At: at.at()}
	var content jsontext.Value
	for _, f := range from {
		switch string(f.Name) {
		case "type":
		case "tool_use_id":
			result.ClientID = jsonbytes.Text(f.Value)
		case "content":
			content = f.Value
		case "is_error":
			result.IsError = f.Value.Kind() == jsontext.KindTrue
		case "cache_control":
			block.Cache = llm.Present(f.Value)
		default:
			b.ignored.Add(membersOf(at), f.Name, f.Value)
		}
	}
	call := b.turn.answered(result.ClientID)
	if call == nil {
		return invalid(at.path(), "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a "+
			"corresponding `tool_use` block in the previous message.", api.Clip(result.ClientID))
	}
	result.ID = call.ID
	if result.ClientID == "" {
		result.ClientID, call.ClientID = call.ID, call.ID
	}
	var err *api.Error
	if result.Content, err = b.resultContent(at, content); err != nil {
		return err
	}
	b.blocks = append(b.blocks, block)
	return nil
}

func (b *builder) resultContent(at place, value jsontext.Value) ([]llm.Block, *api.Error) {
	var all []llm.Block
	switch value.Kind() {
	case jsontext.KindString:
		if text := jsonbytes.Text(value); text != "" {
			all = []llm.Block{{Kind: llm.BlockText, Text: text, At: at.at()}}
		}
		return all, nil
	case jsontext.KindBeginArray:
	default:
		if llm.Given(value) {
			return nil, invalid(at.path()+".content", "Input should be a valid string or list")
		}
		return nil, nil
	}
	i := 0
	for element := range jsonbytes.Elements(value) {
		at.inner = i
		i++
		blocks, err := b.resultBlock(at, element)
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	return all, nil
}

// resultBlock is a block inside the result of a call.
func (b *builder) resultBlock(at place, value jsontext.Value) ([]llm.Block, *api.Error) {
	if value.Kind() != jsontext.KindBeginObject {
		return nil, invalid(at.path(), "Input should be a valid dictionary")
	}
	from := b.fields(value)
	kind := from.Text("type")
	switch {
	case kind == "":
		return nil, missing(at.path() + ".type")
	case kind == "text":
		block, err := b.readText(at, from)
		if err != nil || block.Text == "" {
			return nil, err
		}
		return []llm.Block{block}, nil
	case kind == "tool_reference": // all tools are there from the beginning
		text := "The tool " + from.Text("tool_name") + " has been loaded and can be called now."
		return []llm.Block{{Kind: llm.BlockText, Text: text, At: at.at()}}, nil
	case isMedia(kind):
		return b.media(at, from)
	}
	b.ignored.Put("messages[].content[].content[].type")
	return nil, nil
}

// thought adds a block of thinking, with what its provider wants back. One without a
// signature comes from a provider that signs nothing, and is left out in silence: no
// provider takes it.
func (b *builder) thought(at place, from jsonbytes.Fields) *api.Error {
	text, signature, data := from.Text("thinking"), from.Text("signature"), from.Text("data")
	t := llm.Thought{Format: ownFormat}
	packed, ours := roundtrip.Unseal(cmp.Or(signature, data))
	switch {
	case ours:
		t = packed
		t.Text = cmp.Or(text, t.Text)
	case roundtrip.Sealed(signature), roundtrip.Sealed(data): // cannot be read
		return nil
	case data != "":
		t.Kind, t.Data = llm.ThoughtEncrypted, data
	case signature != "":
		t.Text, t.Signature = text, signature
	default:
		return nil
	}
	b.blocks = append(b.blocks, llm.Block{Kind: llm.BlockThought, Thought: &t, At: at.at()})
	return nil
}

// isHosted says whether a block of the assistant is from a tool that ran at Anthropic.
func isHosted(kind string) bool {
	return kind == "server_tool_use" || kind == "mcp_tool_use" || strings.HasSuffix(kind, "_tool_result")
}

// hostedBlock adds what a tool that ran at Anthropic left: of a result what can be read,
// as a text.
func (b *builder) hostedBlock(at place, kind string, from jsonbytes.Fields) {
	b.ignored.Put("messages[].content[].type")
	if strings.HasSuffix(kind, "_tool_result") {
		b.text(readable(from.Of("content")), at.at())
		return
	}
	b.blocks = append(b.blocks, llm.Block{Kind: llm.BlockHosted, Hosted: b.object, At: at.at()})
}

// readable is the title, the address and the text of each result of a tool.
func readable(value jsontext.Value) string {
	var out strings.Builder
	addReadable(&out, value)
	return strings.TrimSpace(out.String())
}

// readableMembers are those that a person reads.
var readableMembers = map[string]bool{
	"title": true, "url": true, "text": true, "stdout": true, "stderr": true, "error_code": true, "data": false,
}

func addReadable(out *strings.Builder, value jsontext.Value) {
	switch value.Kind() {
	case jsontext.KindBeginArray:
		for element := range jsonbytes.Elements(value) {
			addReadable(out, element)
		}
	case jsontext.KindBeginObject:
		plain := jsonbytes.Text(jsonbytes.Member(value, "media_type")) == "text/plain"
		for name, inner := range jsonbytes.Members(value) {
			member := name.String()
			switch {
			case inner.Kind() != jsontext.KindString:
				addReadable(out, inner)
			case readableMembers[member] || member == "data" && plain:
				if text := jsonbytes.Text(inner); text != "" {
					out.WriteString(text + "\n")
				}
			}
		}
	}
}
