package simulator

// stream tells an answer in events: message_start, its blocks one after the
// other with a ping in the first, message_delta, message_stop.
func (q *anthropicRequest) stream(a anthropicAnswer, said reply) show {
	opening, usage := a, a.Usage
	opening.StopReason, opening.StopSequence = nil, nil
	opening.Usage.OutputTokens, opening.Usage.OutputDetails.Thinking = 1, 0

	t := &anthropicTelling{}
	t.event("message_start", object{"message", opening})
	if said.reasoning != "" {
		q.tellThinking(t, said.reasoning)
	}
	if said.text != "" {
		t.start(object{"type", "text", "text", ""})
		for _, token := range split(said.text) {
			t.delta(object{"type", "text_delta", "text", token})
		}
		t.stop()
	}
	for _, c := range said.calls {
		t.tellCall(c)
	}
	t.event("message_delta", object{
		"delta", object{"stop_reason", a.StopReason, "stop_sequence", a.StopSequence, "stop_details", nil},
		"usage", object{
			"input_tokens", usage.InputTokens, "cache_creation_input_tokens", usage.CacheCreation, "cache_read_input_tokens", usage.CacheRead,
			"output_tokens", usage.OutputTokens, "output_tokens_details", usage.OutputDetails,
		},
	})
	t.event("message_stop", object{})
	return t.show
}

// anthropicTelling numbers the blocks of a stream as it goes.
type anthropicTelling struct {
	show
	index int
}

func (t *anthropicTelling) event(name string, payload object) {
	t.frames = append(t.frames, anthropicEvent(name, append(object{"type", name}, payload...)))
}

func (t *anthropicTelling) start(block object) {
	t.event("content_block_start", object{"index", t.index, "content_block", block})
	if t.index == 0 {
		t.event("ping", object{})
	}
}

func (t *anthropicTelling) delta(delta object) {
	t.event("content_block_delta", object{"index", t.index, "delta", delta})
}

func (t *anthropicTelling) stop() {
	t.event("content_block_stop", object{"index", t.index})
	t.index++
}

// tellThinking sends the signature alone where the thinking is not shown.
func (q *anthropicRequest) tellThinking(t *anthropicTelling, thinking string) {
	shown := q.shown(thinking)
	t.start(object{"type", "thinking", "thinking", "", "signature", ""})
	for _, token := range split(shown) {
		t.delta(object{"type", "thinking_delta", "thinking", token})
	}
	t.delta(object{"type", "signature_delta", "signature", sign(shown)})
	t.stop()
}

// tellCall begins with an empty piece of input, which is all that a call
// without arguments sends.
func (t *anthropicTelling) tellCall(c call) {
	t.start(object{"type", "tool_use", "id", newID("toolu_01"), "name", c.name, "input", object{}, "caller", object{"type", "direct"}})
	t.delta(object{"type", "input_json_delta", "partial_json", ""})
	if c.args != "{}" {
		for _, piece := range fragments(c.args) {
			t.delta(object{"type", "input_json_delta", "partial_json", piece})
		}
	}
	t.stop()
}
