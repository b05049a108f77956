package messages

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// imageTypes are the media types of images.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func isMedia(kind string) bool {
	return kind == "image" || kind == "document" || kind == "search_result"
}

// mediaBlock is a block of media while it is read.
type mediaBlock struct {
	media           llm.Media
	source, content jsontext.Value
	block           llm.Block
}

// media reads an image, a document or a search result. A document that holds images is
// several blocks.
func (b *builder) media(at place, from jsonbytes.Fields) ([]llm.Block, *api.Error) {
	m := &mediaBlock{block: llm.Block{Kind: llm.BlockMedia, At: at.at()}}
	m.block.Media = &m.media
	var kind string
	for _, f := range from {
		switch string(f.Name) {
		case "type":
			kind = jsonbytes.Text(f.Value)
		case "source":
			m.source = llm.Present(f.Value)
		case "content":
			m.content = llm.Present(f.Value)
		case "title":
			m.media.Title = jsonbytes.Text(f.Value)
		case "context":
			m.media.Context = jsonbytes.Text(f.Value)
		case "citations":
			m.media.Citations = string(jsonbytes.Member(f.Value, "enabled")) == "true"
		case "cache_control":
			m.block.Cache = llm.Present(f.Value)
		default:
			b.ignored.Add(membersOf(at), f.Name, f.Value)
		}
	}
	if m.source == nil {
		return nil, missing(at.path() + ".source")
	}
	switch kind {
	case "image":
		return b.image(at, m)
	case "document":
		return b.document(at, m)
	}
	return b.searchResult(at, m)
}

// sourceType is the type of a source, which must be an object.
func sourceType(at place, source jsontext.Value) (string, *api.Error) {
	if source.Kind() != jsontext.KindBeginObject {
		return "", invalid(at.path()+".source", "Input should be a valid dictionary")
	}
	kind := jsonbytes.Text(jsonbytes.Member(source, "type"))
	if kind == "" {
		return "", missing(at.path() + ".source.type")
	}
	if kind == "file" {
		return "", unsupported(at.path()+".source.file_id", "the file is stored at Anthropic: send the file itself, or use an Anthropic model")
	}
	return kind, nil
}

// sourceText is a member of a source that must be a text.
func sourceText(at place, source jsontext.Value, member string) (string, *api.Error) {
	value := jsonbytes.Member(source, member)
	switch {
	case !llm.Given(value):
		return "", missing(at.path() + ".source." + member)
	case value.Kind() != jsontext.KindString:
		return "", invalid(at.path()+".source."+member, "Input should be a valid string")
	}
	return jsonbytes.Text(value), nil
}

// inlined is data in base64 as a data URL.
func inlined(at place, source jsontext.Value, mediaTypes []string) (string, *api.Error) {
	kind, err := sourceText(at, source, "media_type")
	if err != nil {
		return "", err
	}
	known := false
	for _, t := range mediaTypes {
		known = known || t == kind
	}
	if !known {
		if len(mediaTypes) == 1 {
			return "", invalid(at.path()+".source.media_type", "Input should be '%s'", mediaTypes[0])
		}
		return "", notOneOf(at.path()+".source.media_type", mediaTypes)
	}
	data, err := sourceText(at, source, "data")
	if err == nil && data == "" {
		err = invalid(at.path()+".source.data", "data cannot be empty")
	}
	return "data:" + kind + ";base64," + data, err
}

// address is the web address of a source.
func address(at place, source jsontext.Value) (string, *api.Error) {
	url, err := sourceText(at, source, "url")
	if err == nil && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		err = invalid(at.path()+".source.url", "Only HTTPS URLs are supported.")
	}
	return url, err
}

func (b *builder) image(at place, m *mediaBlock) (_ []llm.Block, err *api.Error) {
	kind, err := sourceType(at, m.source)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "base64":
		m.media.URL, err = inlined(at, m.source, imageTypes)
	case "url":
		m.media.URL, err = address(at, m.source)
	default:
		err = notOneOf(at.path()+".source.type", []string{"base64", "url"})
	}
	return []llm.Block{m.block}, err
}

func (b *builder) document(at place, m *mediaBlock) (_ []llm.Block, err *api.Error) {
	const pdf = "application/pdf"
	m.media.Kind = llm.File
	kind, err := sourceType(at, m.source)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "base64":
		m.media.URL, err = inlined(at, m.source, []string{pdf})
	case "url": // of which there is no other type
		m.media.Format = pdf
		m.media.URL, err = address(at, m.source)
	case "text":
		m.media.Text, err = sourceText(at, m.source, "data")
		if m.media.Text == "" {
			return nil, err
		}
	case "content":
		return b.documentContent(at, m)
	default:
		err = notOneOf(at.path()+".source.type", []string{"base64", "text", "content", "url"})
	}
	return []llm.Block{m.block}, err
}

// documentContent returns the blocks of a document whose source is a list of blocks. Texts
// only are one document; else the blocks stand between the texts <document> and </document>,
// so that images keep their place.
func (b *builder) documentContent(at place, m *mediaBlock) ([]llm.Block, *api.Error) {
	content := jsonbytes.Member(m.source, "content")
	if content.Kind() == jsontext.KindString {
		if m.media.Text = jsonbytes.Text(content); m.media.Text == "" {
			return nil, nil
		}
		return []llm.Block{m.block}, nil
	}
	blocks, err := b.innerBlocks(at, at.path()+".source.content", content)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	if texts, all := joined(blocks); all {
		m.media.Text = texts
		return []llm.Block{m.block}, nil
	}
	open := llm.Block{Kind: llm.BlockText, Text: opening(&m.media), At: m.block.At}
	closing := llm.Block{Kind: llm.BlockText, Text: "</document>", At: m.block.At, Cache: m.block.Cache}
	return append(append([]llm.Block{open}, blocks...), closing), nil
}

// opening is the line in front of the blocks of a document.
func opening(m *llm.Media) string {
	line := "<document"
	if m.Title != "" {
		line += " title=" + strconv.Quote(m.Title)
	}
	if m.Context != "" {
		line += " context=" + strconv.Quote(m.Context)
	}
	return line + ">"
}

// innerBlocks are the texts and images of a document or a search result.
func (b *builder) innerBlocks(at place, path string, value jsontext.Value) ([]llm.Block, *api.Error) {
	if value.Kind() != jsontext.KindBeginArray {
		if !llm.Given(value) {
			return nil, missing(path)
		}
		return nil, invalid(path, "Input should be a valid list")
	}
	var all []llm.Block
	for element := range jsonbytes.Elements(value) {
		from := b.fields(element)
		switch from.Text("type") {
		case "text":
			block, err := b.readText(at, from)
			if err != nil {
				return nil, err
			}
			if block.Text != "" {
				all = append(all, block)
			}
		case "image":
			blocks, err := b.media(at, from)
			if err != nil {
				return nil, err
			}
			all = append(all, blocks...)
		default:
			return nil, invalid(path, "Input should be blocks of the types 'text' and 'image'")
		}
	}
	return all, nil
}

// joined are the texts of blocks, if all of them are texts.
func joined(blocks []llm.Block) (string, bool) {
	var out strings.Builder
	for i := range blocks {
		if blocks[i].Kind != llm.BlockText {
			return "", false
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(blocks[i].Text)
	}
	return out.String(), true
}

func (b *builder) searchResult(at place, m *mediaBlock) ([]llm.Block, *api.Error) {
	if m.source.Kind() != jsontext.KindString {
		return nil, invalid(at.path()+".source", "Input should be a valid string")
	}
	m.media.Kind, m.media.URL = llm.SearchResult, jsonbytes.Text(m.source)
	blocks, err := b.innerBlocks(at, at.path()+".content", m.content)
	if err != nil {
		return nil, err
	}
	texts, all := joined(blocks)
	if !all {
		return nil, invalid(at.path()+".content", "Input should be blocks of the type 'text'")
	}
	if m.media.Text = texts; texts == "" {
		return nil, nil
	}
	return []llm.Block{m.block}, nil
}
