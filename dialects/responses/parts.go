package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// parts reads the parts of an item's list. Texts that are empty are left out.
func (b *builder) parts(at place, list string, value jsontext.Value) ([]llm.Block, *api.Error) {
	at.list = list
	var all []llm.Block
	i := 0
	for element := range jsonbytes.Elements(value) {
		at.part = i
		i++
		if element.Kind() != jsontext.KindBeginObject {
			return nil, invalid(at.path(), "%s must be an object", at.path())
		}
		block, ok, err := b.part(at, b.fields(element))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, block)
		}
	}
	return all, nil
}

// part reads a part; ok is false for one that is left out.
func (b *builder) part(at place, from jsonbytes.Fields) (block llm.Block, ok bool, _ *api.Error) {
	block = llm.Block{At: at.at()}
	kind := from.Text("type")
	switch kind {
	case "input_text", "output_text", "text":
		block.Text = from.Text("text")
		ok = block.Text != ""
	case "refusal":
		block.Kind, block.Text = llm.BlockRefusal, from.Text("refusal")
		ok = block.Text != ""
	case "input_image", "input_file", "input_audio":
		media, err := b.media(at, kind, from)
		if err != nil {
			return block, false, err
		}
		block.Kind, block.Media, ok = llm.BlockMedia, media, true
	case "":
		return block, false, api.Missing(at.path() + ".type")
	default:
		b.ignored.Put("input[]." + at.list + "[].type")
		b.omittedAt, b.lastOmitted = at, true
		return block, false, nil
	}
	for _, f := range from {
		switch string(f.Name) {
		case "type", "text", "refusal", "annotations", "logprobs", "parsed": // of an answer that has come back
		case "image_url", "file_id", "detail", "file_data", "file_url", "filename", "input_audio":
		case "prompt_cache_breakpoint":
			if llm.Given(f.Value) {
				block.Cache = b.request.cacheMark()
			}
		default:
			b.ignored.Add("input[]."+at.list+"[].", f.Name, f.Value)
		}
	}
	return block, ok, nil
}

// media reads an image, a file or a sound.
func (b *builder) media(at place, kind string, from jsonbytes.Fields) (*llm.Media, *api.Error) {
	if from.Text("file_id") != "" {
		return nil, unsupported(at.path()+".file_id", "the file is stored at OpenAI: send the file itself, or use a model of OpenAI")
	}
	m := &llm.Media{}
	switch kind {
	case "input_image":
		if m.URL, m.Detail = from.Text("image_url"), from.Text("detail"); m.URL == "" {
			return nil, api.Missing(at.path() + ".image_url")
		}
	case "input_audio":
		sound := from.Of("input_audio")
		m.Kind, m.Data = llm.Audio, jsonbytes.Text(jsonbytes.Member(sound, "data"))
		m.Format = jsonbytes.Text(jsonbytes.Member(sound, "format"))
		if m.Data == "" {
			return nil, api.Missing(at.path() + ".input_audio.data")
		}
	default:
		m.Kind, m.Name, m.URL = llm.File, from.Text("filename"), from.Text("file_data")
		if m.URL == "" {
			m.URL, m.Format = from.Text("file_url"), "application/pdf" // the usual type, which its address may contradict
		}
		if m.URL == "" {
			return nil, api.Missing(at.path() + ".file_data")
		}
	}
	return m, nil
}
