package anthropic

import (
	"strconv"

	"modelgateway/providers"
)

// plain writes a request of texts alone with the most frequent options, but for its last
// brace, as json.Marshal does without reflection; nil where there is anything else. size is about how
// many bytes its prompt becomes.
func (r *request) plain(size int) object {
	if r.rare() {
		return nil
	}
	instructions, isBlocks := r.System.([]block)
	text, isText := r.System.(string)
	if !isBlocks && !isText && r.System != nil || !areTexts(instructions) {
		return nil
	}
	for i := range r.Messages {
		if !areTexts(r.Messages[i].Content) {
			return nil
		}
	}
	const usual, perMessage = 192, 64 // bytes beside the prompt
	dst := providers.AppendQuote(append(make([]byte, 0, usual+size+perMessage*len(r.Messages)), `{"model":`...), r.Model)
	dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), r.MaxTokens, 10)
	switch {
	case isText:
		dst = providers.AppendQuote(append(dst, `,"system":`...), text)
	case isBlocks:
		dst = appendTexts(append(dst, `,"system":`...), instructions)
	}
	dst = append(dst, `,"messages":[`...)
	for i := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := &r.Messages[i]
		dst = providers.AppendQuote(append(dst, `{"role":`...), m.Role)
		dst = append(appendTexts(append(dst, `,"content":`...), m.Content), '}')
	}
	dst = append(dst, ']')
	dst = providers.AppendDecimal(dst, `,"temperature":`, r.Temperature)
	dst = providers.AppendDecimal(dst, `,"top_p":`, r.TopP)
	return dst
}

// rare says whether there are other options than those that plain writes.
func (o *options) rare() bool {
	return o.ToolChoice != nil || o.Thinking != nil || o.TopK != nil || len(o.StopSequences) > 0 || o.Metadata != nil ||
		o.ServiceTier != "" || o.CacheControl != nil || !providers.IsDecimal(o.Temperature) || !providers.IsDecimal(o.TopP)
}

// areTexts says whether all blocks are texts and nothing else.
func areTexts(blocks []block) bool {
	for i := range blocks {
		b := &blocks[i]
		if b.Type != "text" || b.Text == "" || b.Source != nil || b.Title != "" || b.ID != "" || b.Name != "" || b.Input != nil ||
			b.ToolUseID != "" || b.Content != nil || b.IsError || b.Thinking != nil || b.Signature != "" || b.Data != "" ||
			b.CacheControl != nil {
			return false
		}
	}
	return true
}

func appendTexts(dst []byte, blocks []block) []byte {
	dst = append(dst, '[')
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(providers.AppendQuote(append(dst, `{"type":"text","text":`...), blocks[i].Text), '}')
	}
	return append(dst, ']')
}
