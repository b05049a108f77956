package anthropic

import "strconv"

// plain writes a request of texts alone with the most frequent options, but for its last
// brace, as json.Marshal does without reflection; nil where there is anything else.
func (r *request) plain() object {
	system, given, ok := r.systemBlocks()
	if !ok || r.rare() {
		return nil
	}
	size := textsSize(system)
	for i := range r.Messages {
		size += textsSize(r.Messages[i].Content)
	}
	if size < 0 {
		return nil
	}
	const usual = 192 // bytes beside the prompt
	dst := appendQuote(append(make([]byte, 0, usual+size), `{"model":`...), r.Model)
	dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), r.MaxTokens, 10)
	switch text, isText := r.System.(string); {
	case isText:
		dst = appendQuote(append(dst, `,"system":`...), text)
	case given:
		dst = appendTexts(append(dst, `,"system":`...), system)
	}
	dst = append(dst, `,"messages":[`...)
	for i := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := &r.Messages[i]
		dst = appendQuote(append(dst, `{"role":`...), m.Role)
		dst = append(appendTexts(append(dst, `,"content":`...), m.Content), '}')
	}
	dst = append(dst, ']')
	if r.Temperature != nil {
		dst = strconv.AppendFloat(append(dst, `,"temperature":`...), *r.Temperature, 'f', -1, 64)
	}
	if r.TopP != nil {
		dst = strconv.AppendFloat(append(dst, `,"top_p":`...), *r.TopP, 'f', -1, 64)
	}
	return dst
}

// systemBlocks are the instructions where they are blocks; ok = they are those, a text or none.
func (r *request) systemBlocks() (blocks []block, given, ok bool) {
	switch s := r.System.(type) {
	case nil, string:
		return nil, false, true
	case []block:
		return s, s != nil, true
	}
	return nil, false, false
}

// rare says whether there are other options than those that plain writes.
func (o *options) rare() bool {
	return o.ToolChoice != nil || o.Thinking != nil || o.TopK != nil || len(o.StopSequences) > 0 || o.Metadata != nil ||
		o.ServiceTier != "" || o.CacheControl != nil || !decimal(o.Temperature) || !decimal(o.TopP)
}

// decimal says whether JSON has a number without an exponent.
func decimal(n *float64) bool { return n == nil || *n == 0 || *n >= 1e-4 && *n < 1e4 }

// textsSize is about how many bytes blocks take; far below zero where one is no plain text.
func textsSize(blocks []block) (size int) {
	const none, each = -1 << 40, len(`{"type":"text","text":""},`)
	for i := range blocks {
		b := &blocks[i]
		if b.Type != "text" || b.Text == "" || b.Source != nil || b.Title != "" || b.ID != "" || b.Name != "" || b.Input != nil ||
			b.ToolUseID != "" || b.Content != nil || b.Thinking != nil || b.Signature != "" || b.Data != "" || b.CacheControl != nil {
			return none
		}
		size += len(b.Text) + each
	}
	return size
}

func appendTexts(dst []byte, blocks []block) []byte {
	dst = append(dst, '[')
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuote(append(dst, `{"type":"text","text":`...), blocks[i].Text), '}')
	}
	return append(dst, ']')
}
