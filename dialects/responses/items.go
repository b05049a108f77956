package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// item adds an item of the input. What only OpenAI's models know is left out and named.
func (b *builder) item(i int, value jsontext.Value) *api.Error {
	at := place{item: i, part: -1}
	if value.Kind() != jsontext.KindBeginObject {
		return invalid(at.path(), "%s must be an object", at.path())
	}
	from := b.fields(value)
	name := from.Text("type")
	kind := itemKindOf(name)
	if name == "" { // a message need not say its type, nor need a reference
		kind = referenceItem
		if from.Of("role") != nil {
			kind = messageItem
		}
	}
	if kind == unknownItem && strings.HasSuffix(name, "_output") {
		kind = awaitedItem
	}
	switch kind {
	case messageItem:
		return b.message(at, from)
	case thoughtItem:
		b.thought(at, from)
	case callItem, customCallItem, clientCallItem, searchCallItem:
		return b.call(at, name, kind, from)
	case resultItem:
		return b.result(at, name, from)
	case toolsItem:
		return b.addTools(i, from.Of("tools"))
	case foundItem:
		return b.found(at, from)
	case imageItem:
		b.madeImage(at, from)
	case compactedItem:
		return b.compacted(at, from)
	case triggerItem:
		if i != b.request.prompt.items-1 || b.request.endpoint == Compact {
			return invalid(at.path()+".type", "a compaction_trigger must be the last item of the input, and the only one")
		}
	case updateItem: // read with the settings
	case referenceItem:
		return unsupported(at.path()+".id", "the gateway has not kept this item: send the items themselves; with store:false your SDK does so "+
			"(AI SDK: providerOptions: {openai: {store: false}}, or the model as provider.chat(…)). An operator can have it keep items: "+
			"ENCRYPTION_KEY, and RESPONSES_STORE_HOURS for how long")
	case awaitedItem:
		err := unsupported(at.path()+".type", "the item %s answers a tool that runs at OpenAI: it needs a model of OpenAI", api.Quoted(name))
		if itemKindOf(name) == unknownItem {
			return err
		}
		b.ignored.Put(at.path() + ".type") // it is history, as the call is, where the model has gone on from it
		b.resultErr = err
	case hostedItem:
		b.ignored.Put(at.path() + ".type")
	case unknownItem:
		b.ignored.Put(at.path() + ".type")
		b.omittedAt, b.lastOmitted = at, true
	}
	return nil
}

var roles = map[string]llm.Role{
	"user": llm.RoleUser, "assistant": llm.RoleAssistant, "system": llm.RoleInstructions, "developer": llm.RoleInstructions,
}

// message adds a message.
func (b *builder) message(at place, from jsonbytes.Fields) *api.Error {
	role, known := roles[from.Text("role")]
	if !known {
		return api.NotOneOf(at.path()+".role", from.Text("role"), []string{"user", "assistant", "system", "developer"})
	}
	for _, f := range from {
		switch string(f.Name) {
		case "type", "role", "content", "phase", "id", "status":
		default:
			b.ignored.Add("input[].", f.Name, f.Value)
		}
	}
	phase, content := from.Text("phase"), from.Of("content")
	switch content.Kind() {
	case jsontext.KindString:
		if text := jsonbytes.Text(content); text != "" {
			b.add(role, llm.Block{Kind: llm.BlockText, Text: text, Phase: phase, At: at.at()})
		}
		return nil
	case jsontext.KindBeginArray:
	default:
		if llm.Given(content) {
			return invalid(at.path()+".content", "%s.content must be a string or an array", at.path())
		}
		return api.Missing(at.path() + ".content")
	}
	omittedAt, lastOmitted := b.omittedAt, b.lastOmitted
	blocks, err := b.parts(at, contentList, content)
	if err != nil {
		return err
	}
	if role == llm.RoleInstructions { // the model answers the turn before, not what may only add to its instructions
		b.omittedAt, b.lastOmitted = omittedAt, lastOmitted
	}
	for i := range blocks {
		block := &blocks[i]
		if role == llm.RoleInstructions && block.Kind != llm.BlockText {
			return invalid(placeOf(block.At).path()+".type", "instructions must be texts")
		}
		if role == llm.RoleAssistant && block.Kind == llm.BlockText {
			block.Phase = phase
		}
	}
	b.addAll(role, blocks)
	return nil
}

// addAll adds the blocks of one item.
func (b *builder) addAll(role llm.Role, blocks []llm.Block) {
	if len(blocks) == 0 {
		return
	}
	b.lastOmitted = false
	b.add(role, blocks[0])
	m := &b.made.Messages[len(b.made.Messages)-1]
	if role != llm.RoleInstructions {
		m = &b.made.Messages[b.side]
	}
	m.Blocks = append(m.Blocks, blocks[1:]...)
}

// thought adds a reasoning item. What its provider wants back is in its encrypted content,
// together with the text, which must come back as it was. Providers leave out what is not
// their own: the client knows that it has changed the model.
func (b *builder) thought(at place, from jsonbytes.Fields) {
	data := from.Text("encrypted_content")
	t, ours := roundtrip.Unseal(data)
	if !ours {
		if data == "" || roundtrip.Sealed(data) { // nothing to bring back, or it cannot be read
			return
		}
		t = llm.Thought{
			Kind: llm.ThoughtEncrypted, Format: llm.FormatOpenAI, Data: data, ItemID: from.Text("id"), Text: summaryOf(from.Of("summary")),
		}
	}
	b.add(llm.RoleAssistant, llm.Block{Kind: llm.BlockThought, Thought: &t, At: at.at()})
}

// summaryOf is the text of a summary.
func summaryOf(list jsontext.Value) string {
	var texts []string
	for part := range jsonbytes.Elements(list) {
		if text := jsonbytes.Text(jsonbytes.Member(part, "text")); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// madeImage adds an image that the model made.
func (b *builder) madeImage(at place, from jsonbytes.Fields) {
	data := from.Text("result")
	if data == "" {
		b.ignored.Put(at.path() + ".type")
		return
	}
	format := from.Text("output_format")
	if format != "jpeg" && format != "webp" {
		format = "png"
	}
	b.add(llm.RoleAssistant, llm.Block{
		Kind: llm.BlockMedia, At: at.at(), Media: &llm.Media{Kind: llm.Image, URL: "data:image/" + format + ";base64," + data, Made: true},
	})
}

// compacted adds the summary of the conversation before it.
func (b *builder) compacted(at place, from jsonbytes.Fields) *api.Error {
	t, ours := roundtrip.Unseal(from.Text("encrypted_content"))
	if !ours || t.Format != compacted {
		return unsupported(at.path()+".encrypted_content", "this summary of the conversation was not made by the gateway: "+
			"only the provider that made it can read it")
	}
	b.addText(llm.RoleUser, "The conversation up to here has been replaced by this summary of it:\n\n"+t.Text, at.at())
	return nil
}

// handOver asks for a summary. It stands last, so that prompt caches know all before it.
const handOver = "Do not go on with the task now. Write a summary of this conversation for another model, which will continue the work and " +
	"will see nothing but your summary. Say what the user wants, in the user's own words where these matter; what has been done and found " +
	"out, with the names of files, commands, results and errors; which decisions were made and why; and what remains to be done, with the " +
	"next step first. Keep exact names, numbers and texts that the work needs. Write the summary and nothing else."

// summarize turns the conversation into a request for its summary, without tools.
func (b *builder) summarize() {
	b.made.Tools, b.made.Choice, b.made.Format = nil, nil, nil
	b.addText(llm.RoleUser, handOver, llm.At{Item: inputItem, Part: -1})
}
