package providertest

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
)

// extra is what of an answer has no member in a chat.Answer or a chat.Delta.
type extra struct {
	Annotations []chat.Annotation `json:"annotations,omitempty"`
	Audio       *chat.Sound       `json:"audio,omitzero"`
	Files       []file            `json:"files,omitempty"`
	Rest        jsontext.Value    `json:",embed"`
}

type file struct {
	Type string `json:"type"`
	File struct {
		FileData string `json:"file_data"`
	} `json:"file"`
	Index jsontext.Value `json:"index,omitzero"`
}

// readExtra reads such members; false where they have another form, as some upstreams send.
func readExtra(text jsontext.Value) (extra, bool) {
	var e extra
	if len(text) == 0 {
		return e, true
	}
	err := json.Unmarshal(text, &e, api.Lenient)
	return e, err == nil
}

// add puts the members of a further delta together with those so far, as a client does.
func (e *extra) add(more extra) {
	for _, a := range more.Annotations {
		a.Index = nil
		e.Annotations = append(e.Annotations, a)
	}
	for _, f := range more.Files {
		f.Index = nil
		e.Files = append(e.Files, f)
	}
	switch {
	case e.Audio == nil:
		e.Audio = more.Audio
	case more.Audio != nil:
		e.Audio.Data += more.Audio.Data
	}
	if len(more.Rest) > 0 {
		e.Rest = slices.Clone(more.Rest)
	}
}

// joinExtra is both together.
func joinExtra(have, more jsontext.Value) jsontext.Value {
	all, ok := readExtra(have)
	next, okNext := readExtra(more)
	if !ok || !okNext {
		return slices.Clone(more)
	}
	all.add(next)
	text, err := json.Marshal(all, api.Lenient)
	if err != nil {
		return slices.Clone(more)
	}
	return text
}

// AddExtra adds the members to a choice.
func (c *Choice) AddExtra(text jsontext.Value) {
	e, ok := readExtra(text)
	if !ok {
		return
	}
	have := extra{Annotations: c.Annotations}
	have.add(e)
	c.Annotations = have.Annotations
	for _, f := range e.Files {
		c.Files = append(c.Files, f.File.FileData)
	}
	if e.Audio != nil {
		c.Sound += e.Audio.Data
	}
}
