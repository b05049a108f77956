package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/providers/turns"
)

func (t *translation) translateHistory() error {
	if err := t.inspect(); err != nil {
		return err
	}
	conversation, err := turns.Fold(t.req.Messages)
	if err != nil {
		return err
	}
	t.lose(conversation.Ignored...)
	t.instruct(conversation)
	for i := range conversation.Turns {
		turn := &conversation.Turns[i]
		role, translate := roleUser, t.userParts
		if turn.Assistant {
			role, translate = roleModel, t.modelParts
		}
		parts, err := translate(turn)
		if err != nil {
			return err
		}
		t.say(role, parts)
	}
	if len(t.contents) == 0 {
		return api.Invalid(api.CodeInvalidValue, "messages", "messages hold no content")
	}
	if t.contents[0].Role == roleModel { // the user has to speak first
		t.contents = slices.Insert(t.contents, 0, content{Role: roleUser, Parts: []part{{Text: "."}}})
	}
	return nil
}

// inspect refuses what cannot be translated, while it still has its place in
// the request, and notes what gets lost of messages.
func (t *translation) inspect() error {
	for i := range t.req.Messages {
		m := &t.req.Messages[i]
		if api.Given(m.CacheControl) {
			t.lose("messages[].cache_control")
		}
		for j := range m.Content.Parts {
			if err := t.inspectPart(&m.Content.Parts[j]); err != nil {
				err.Param = fmt.Sprintf("messages[%d].content[%d].%s", i, j, err.Param)
				return err
			}
		}
		for j := range m.Images {
			if _, err := image(m.Images[j].ImageURL.URL); err != nil {
				err.Param = fmt.Sprintf("messages[%d].images[%d].%s", i, j, err.Param)
				return err
			}
		}
	}
	return nil
}

func (t *translation) inspectPart(p *api.ContentPart) *api.Error {
	if api.Given(p.CacheControl) {
		t.lose("messages[].content[].cache_control")
	}
	if p.Type == "text" || p.Type == "refusal" {
		return nil
	}
	if p.ImageURL != nil && p.ImageURL.Detail != "" && p.ImageURL.Detail != "auto" {
		t.lose("messages[].content[].image_url.detail")
	}
	if p.File != nil && p.File.Filename != "" {
		t.lose("messages[].content[].file.filename")
	}
	_, err := media(p)
	return err
}

// instruct puts the instructions where the model looks for them.
func (t *translation) instruct(c *turns.Conversation) {
	parts := make([]part, 0, len(c.System))
	for _, b := range c.System {
		parts = append(parts, part{Text: b.Part.Text})
	}
	if t.traits.NoSystem {
		t.say(roleUser, parts)
	} else if len(parts) > 0 {
		t.system = &content{Parts: parts}
	}
}

// say adds parts to the conversation, in the last content where it is of the
// same role.
func (t *translation) say(role string, parts []part) {
	if len(parts) == 0 {
		return // a turn that held nothing but another provider's reasoning
	}
	if n := len(t.contents); n > 0 && t.contents[n-1].Role == role {
		t.contents[n-1].Parts = append(t.contents[n-1].Parts, parts...)
		return
	}
	t.contents = append(t.contents, content{Role: role, Parts: parts})
}

// userParts are the responses of a turn in one row, as Gemini counts them
// against the calls, then their pictures, then what the user says.
func (t *translation) userParts(turn *turns.Turn) ([]part, error) {
	var responses, pictures, said []part
	for i := range turn.Blocks {
		b := &turn.Blocks[i]
		if b.Result != nil {
			response, beside, err := t.response(b.Result)
			if err != nil {
				return nil, err
			}
			responses, pictures = append(responses, response), append(pictures, beside...)
			continue
		}
		p, err := translated(b.Part)
		if err != nil {
			return nil, err
		}
		said = append(said, p)
	}
	return append(append(responses, pictures...), said...), nil
}

func translated(p *api.ContentPart) (part, error) {
	if p.Type == "text" {
		return part{Text: p.Text}, nil
	}
	out, err := media(p)
	if err != nil { // inspect has had it before
		return part{}, err
	}
	return out, nil
}

// response translates a result. Models whose calls have ids take pictures
// inside it; for the others they stand beside.
func (t *translation) response(r *turns.Result) (response part, beside []part, err error) {
	var words []string
	var pictures []part
	for i := range r.Content {
		p := &r.Content[i]
		if p.Type == "text" {
			words = append(words, p.Text)
			continue
		}
		picture, err := translated(p)
		if err != nil {
			return part{}, nil, err
		}
		pictures = append(pictures, picture)
	}
	f := &functionResponse{ID: t.callID(r.ID), Name: r.Name, Response: result(strings.Join(words, "\n"))}
	if t.traits.CallIDs {
		f.Parts, pictures = pictures, nil
	}
	return part{FunctionResponse: f}, pictures, nil
}

// result is a tool's words as the object that Gemini wants.
func result(words string) jsontext.Value {
	if raw := jsontext.Value(words); isObject(raw) && raw.IsValid() {
		return raw
	}
	var out object
	out.add("output", quote(words))
	return out.done()
}

// foreign are the beginnings of ids that are not Gemini's: OpenAI's and those
// the gateway makes where Gemini gives none, and Anthropic's.
var foreign = []string{"call_", "toolu_", "srvtoolu_", "chatcmpl-tool-"}

// callID is the id of a call where it may be Gemini's own.
func (t *translation) callID(id string) string {
	if !t.traits.CallIDs {
		return ""
	}
	for _, start := range foreign {
		if strings.HasPrefix(id, start) {
			return ""
		}
	}
	return id
}
