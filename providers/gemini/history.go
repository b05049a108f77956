package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/alternating"
)

func (t *translation) translateHistory() error {
	if err := t.inspect(); err != nil {
		return err
	}
	folded, err := alternating.Fold(t.req)
	if err != nil {
		return err
	}
	t.setInstructions(folded)
	for i := range folded.Turns {
		turn := &folded.Turns[i]
		role, translate := roleUser, t.userParts
		if turn.Assistant {
			role, translate = roleModel, t.modelParts
		}
		parts, err := translate(turn)
		if err != nil {
			return err
		}
		t.addContent(role, parts)
	}
	if len(t.contents) == 0 {
		path := t.req.Path(llm.FieldMessages)
		return api.Invalid(api.CodeInvalidValue, path, "%s have no content", path)
	}
	if t.contents[0].Role == roleModel { // the user has to be first
		t.contents = slices.Insert(t.contents, 0, content{Role: roleUser, Parts: []part{{Text: "."}}})
	}
	return nil
}

// inspect refuses media that cannot be translated, before the order of the
// messages is checked, and records what is left out of messages.
func (t *translation) inspect() error {
	for i := range t.conversation.Messages {
		m := &t.conversation.Messages[i]
		if len(m.Cache) > 0 {
			t.ignore(llm.FieldMessageCache)
		}
		for j := range m.Blocks {
			if err := t.inspectBlock(&m.Blocks[j], m.Cache); err != nil {
				return err
			}
		}
	}
	return nil
}

// inspectBlock checks a block. The cache mark of the whole message is that of
// its last block as well.
func (t *translation) inspectBlock(b *llm.Block, whole jsontext.Value) error {
	if len(b.Cache) > 0 && (len(whole) == 0 || &b.Cache[0] != &whole[0]) {
		t.ignore(llm.FieldPartCache)
	}
	switch b.Kind {
	case llm.BlockMedia:
		if b.Media.Citations {
			t.ignore(llm.FieldCitations)
		}
		if b.Media.Detail != "" && b.Media.Detail != "auto" && !b.Media.Made {
			t.ignore(llm.FieldImageDetail)
		}
		if b.Media.Name != "" {
			t.ignore(llm.FieldFileName)
		}
		_, err := t.media(b)
		return err
	case llm.BlockResult:
		for i := range b.Result.Content {
			if err := t.inspectBlock(&b.Result.Content[i], whole); err != nil {
				return err
			}
		}
	case llm.BlockHosted:
		t.ignore(llm.FieldPartType) // only its own provider can read it
	}
	return nil
}

// setInstructions puts the instructions into the member that the model has for
// them.
func (t *translation) setInstructions(c *alternating.Conversation) {
	parts := make([]part, 0, len(c.System))
	for _, b := range c.System {
		parts = append(parts, part{Text: b.Text})
	}
	if t.hint != "" {
		parts = append(parts, part{Text: t.hint})
	}
	if t.traits.NoSystem {
		t.addContent(roleUser, parts)
	} else if len(parts) > 0 {
		t.system = &content{Parts: parts}
	}
}

// addContent adds parts to the conversation, in the last content where it is of
// the same role.
func (t *translation) addContent(role string, parts []part) {
	if len(parts) == 0 {
		return // a turn with nothing but another provider's reasoning
	}
	if n := len(t.contents); n > 0 && t.contents[n-1].Role == role {
		t.contents[n-1].Parts = append(t.contents[n-1].Parts, parts...)
		return
	}
	t.contents = append(t.contents, content{Role: role, Parts: parts})
}

// userParts are the results of a turn in sequence, as Gemini counts them
// against the calls, then their images, then the user's own parts.
func (t *translation) userParts(turn *alternating.Turn) (_ []part, err error) {
	var responses, media, rest []part
	for _, b := range turn.Blocks {
		if b.Kind == llm.BlockResult {
			response, beside, err := t.response(b)
			if err != nil {
				return nil, err
			}
			responses, media = append(responses, response), append(media, beside...)
			continue
		}
		if rest, err = t.addPart(rest, b.Block); err != nil {
			return nil, err
		}
	}
	return append(append(responses, media...), rest...), nil
}

// addPart adds a text that is not empty, or a block of media that inspect has let pass,
// behind what Gemini has no member for.
func (t *translation) addPart(parts []part, b *llm.Block) ([]part, error) {
	switch b.Kind {
	case llm.BlockText, llm.BlockRefusal:
		if b.Text == "" {
			return parts, nil
		}
		return append(parts, part{Text: b.Text}), nil
	case llm.BlockMedia:
		p, err := t.media(b)
		if err != nil {
			return nil, err
		}
		if p.Text == "" && (b.Media.Title != "" || b.Media.Context != "") {
			parts = append(parts, part{Text: providers.DocumentLine(b.Media)})
		}
		return append(parts, p), nil
	}
	return parts, nil
}

// response translates the result of a call. Models whose calls have ids take
// media inside it; for the others they stand beside.
func (t *translation) response(b alternating.Block) (response part, beside []part, err error) {
	var texts []string
	var media []part
	for i := range b.Result.Content {
		c := &b.Result.Content[i]
		switch {
		case c.Kind != llm.BlockMedia && c.Text != "":
			texts = append(texts, c.Text)
		case c.Kind != llm.BlockMedia:
		case c.Media.Text != "":
			texts = append(texts, providers.DocumentText(c.Media))
		default:
			if media, err = t.addPart(media, c); err != nil {
				return part{}, nil, err
			}
		}
	}
	f := &functionResponse{ID: t.callID(b.Answers.ID), Name: t.names.of(b.Answers.Name), Response: result(strings.Join(texts, "\n"))}
	if b.Result.IsError {
		f.Response = failure(strings.Join(texts, "\n"))
	}
	if t.traits.CallIDs {
		f.Parts, media = media, nil
	}
	return part{FunctionResponse: f}, media, nil
}

// maxResultValues is how many members and elements the result of a tool may have to
// be sent as an object: checking that their names differ takes more memory than its
// text, which is all that a body counts. maxResultDepth is jsontext's own bound.
const maxResultValues, maxResultDepth = 100_000, 10_000

// result is a tool's text as the object that Gemini requires.
func result(text string) jsontext.Value {
	raw := jsontext.Value(text)
	if isObject(raw) && jsonbytes.ShapeOf(raw, maxResultDepth).Values <= maxResultValues && raw.IsValid() {
		return raw
	}
	var out object
	out.add("output", quote(text))
	return out.done()
}

// failure is the text of a tool that failed as an object.
func failure(text string) jsontext.Value {
	var out object
	out.add("error", quote(text))
	return out.done()
}

// foreignIDs are the beginnings of ids that are not Gemini's: OpenAI's and those
// the gateway makes where Gemini gives none, and Anthropic's.
var foreignIDs = []string{"call_", "toolu_", "srvtoolu_", "chatcmpl-tool-"}

// callID is the id of a call where it may be Gemini's own.
func (t *translation) callID(id string) string {
	if !t.traits.CallIDs || t.vertex { // which refuses the member
		return ""
	}
	for _, start := range foreignIDs {
		if strings.HasPrefix(id, start) {
			return ""
		}
	}
	return id
}
