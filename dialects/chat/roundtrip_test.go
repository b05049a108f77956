package chat

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// encoded writes a conversation as the messages of a request, as a client that
// had it in the common form would.
func encoded(t *testing.T, c *llm.Conversation) []byte {
	t.Helper()
	var messages []map[string]any
	for i := range c.Messages {
		messages = append(messages, encodedMessage(&c.Messages[i]))
	}
	body := map[string]any{"model": "m", "messages": messages}
	if len(c.Tools) > 0 {
		var tools []map[string]any
		for _, tool := range c.Tools {
			made := map[string]any{"type": tool.Type}
			if tool.Kind == llm.ToolFunction {
				made["function"] = withoutNil(map[string]any{
					"name": tool.Name, "description": tool.Description, "parameters": raw(tool.Parameters), "strict": tool.Strict,
				})
			} else {
				made["custom"] = raw(tool.Custom)
			}
			made["cache_control"] = raw(tool.Cache)
			tools = append(tools, withoutNil(made))
		}
		body["tools"] = tools
	}
	text, err := json.Marshal(body, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func encodedMessage(m *llm.Message) map[string]any {
	out := map[string]any{"role": map[llm.Role]string{llm.RoleUser: "user", llm.RoleAssistant: "assistant",
		llm.RoleInstructions: "system"}[m.Role]}
	parts := []map[string]any{}
	var calls, images, thoughts []map[string]any
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Kind {
		case llm.BlockRefusal:
			parts = append(parts, map[string]any{"type": "refusal", "refusal": b.Text})
		case llm.BlockText:
			parts = append(parts, withoutNil(map[string]any{"type": "text", "text": b.Text, "cache_control": raw(b.Cache)}))
		case llm.BlockMedia:
			if b.Media.Made {
				images = append(images,
					map[string]any{"type": "image_url", "image_url": map[string]any{"url": b.Media.URL, "detail": b.Media.Detail}})
				continue
			}
			parts = append(parts, encodedMedia(b))
		case llm.BlockCall:
			calls = append(calls, encodedCall(b.Call))
			if len(b.Cache) > 0 {
				out["cache_control"] = raw(b.Cache)
			}
		case llm.BlockResult:
			out["role"], out["tool_call_id"] = "tool", b.Result.ClientID
			if b.Result.ClientID == "" {
				delete(out, "tool_call_id")
				out["role"], out["name"] = "function", b.Result.Name
			}
			for j := range b.Result.Content {
				if inner := &b.Result.Content[j]; inner.Kind == llm.BlockText {
					parts = append(parts, withoutNil(map[string]any{"type": "text", "text": inner.Text, "cache_control": raw(inner.Cache)}))
				} else {
					parts = append(parts, encodedMedia(inner))
				}
			}
			if len(b.Cache) > 0 {
				out["cache_control"] = raw(b.Cache)
			}
		case llm.BlockThought:
			d := detail(b.Thought)
			thoughts = append(thoughts, map[string]any{
				"type": d.Type, "text": d.Text, "summary": d.Summary, "signature": d.Signature, "data": d.Data, "id": d.ID, "format": d.Format,
				"index": i,
			})
		}
	}
	if len(parts) > 0 || m.Role != llm.RoleAssistant {
		out["content"] = parts
	}
	for name, list := range map[string][]map[string]any{"tool_calls": calls, "images": images, "reasoning_details": thoughts} {
		if len(list) > 0 {
			out[name] = list
		}
	}
	return out
}

func encodedMedia(b *llm.Block) map[string]any {
	m := b.Media
	out := map[string]any{"cache_control": raw(b.Cache)}
	switch m.Kind {
	case llm.Image:
		out["type"], out["image_url"] = "image_url", map[string]any{"url": m.URL, "detail": m.Detail}
	case llm.Audio:
		out["type"], out["input_audio"] = "input_audio", map[string]any{"data": m.Data, "format": m.Format}
	default:
		out["type"], out["file"] = "file", map[string]any{"file_data": m.URL, "filename": m.Name, "file_id": m.FileID}
	}
	return withoutNil(out)
}

func encodedCall(c *llm.Call) map[string]any {
	if c.Kind == llm.ToolCustom {
		return withoutNil(map[string]any{"id": c.ClientID, "type": "custom", "custom": raw(custom(c.Name, c.Input))})
	}
	out := map[string]any{
		"id":       c.ClientID,
		"type":     "function",
		"function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)},
	}
	if c.Signature != "" {
		out["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": c.Signature}}
	}
	return out
}

func raw(v []byte) any {
	if len(v) == 0 {
		return nil
	}
	return jsontext.Value(v)
}

func withoutNil(m map[string]any) map[string]any {
	for name, v := range m {
		if p := reflect.ValueOf(v); v == nil || p.Kind() == reflect.Pointer && p.IsNil() {
			delete(m, name)
		}
	}
	return m
}

// meaning is a conversation without where its parts stood in the body.
func meaning(c *llm.Conversation) *llm.Conversation {
	out := *c
	out.Messages = nil
	for _, m := range c.Messages {
		m.At = llm.At{}
		m.Blocks = unplaced(m.Blocks)
		out.Messages = append(out.Messages, m)
	}
	out.Choice, out.Format = nil, nil
	return &out
}

func unplaced(blocks []llm.Block) []llm.Block {
	var out []llm.Block
	for _, b := range blocks {
		b.At = llm.At{}
		if b.Thought != nil {
			thought := *b.Thought
			thought.Index = 0
			b.Thought = &thought
		}
		if b.Result != nil {
			result := *b.Result
			result.Content = unplaced(result.Content)
			b.Result = &result
		}
		out = append(out, b)
	}
	return out
}

// FuzzTheCommonFormKeepsTheMeaning decodes a request, writes its conversation
// as a request again and decodes that: both say the same.
func FuzzTheCommonFormKeepsTheMeaning(f *testing.F) {
	f.Add(
		[]byte(
			said(
				`{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u","cache_control":{"type":"ephemeral"}},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}}]},
		{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}`,
			),
		),
	)
	f.Add([]byte(said(`{"role":"assistant","content":"t","refusal":"no","reasoning_details":[{"type":"reasoning.text","text":"why",` +
		`"signature":"s","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"x","format":"google-gemini-v1",` +
		`"index":1}],"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`)))
	f.Add(
		[]byte(with(`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},` +
			`{"type":"custom","custom":{"name":"g"}}]`)),
	)
	f.Add([]byte(said(`{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA==",` +
		`"filename":"a.pdf"}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Decode(nil, body)
		if err != nil || req.SingleCall {
			return
		}
		first, err := req.Source.Conversation()
		if err != nil {
			return
		}
		text := encoded(t, first)
		again, err := Decode(nil, text)
		if err != nil {
			if bytes.Contains(body, []byte(mark)) || strings.Contains(err.Error(), "at most") {
				return
			}
			t.Fatalf("%v: %s", err, text)
		}
		second, err := again.Source.Conversation()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte(mark)) {
			return // details inside ids have two homes
		}
		if want, got := meaning(first), meaning(second); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s\nbecame %s\nwant %+v\ngot  %+v", body, text, want, got)
		}
	})
}

// FuzzAStreamSaysWhatItsAnswerSays writes the same events as a stream and as a
// whole answer: both say the same.
func FuzzAStreamSaysWhatItsAnswerSays(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "text", false)
	f.Add([]byte{4, 5, 4, 5, 5, 9}, "{}", true)
	f.Add([]byte{2, 3, 4, 12, 13, 14, 20}, "é\"\n", false)
	f.Fuzz(func(t *testing.T, steps []byte, text string, legacy bool) {
		text = strings.ToValidUTF8(text, "?")
		req := &llm.Request{SingleCall: legacy, Usage: true}
		answer, err := llm.Collect(scripted(steps, text))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := AppendAnswer(nil, req, answer)
		if err != nil {
			t.Fatal(err)
		}
		var want Completion
		if err := json.Unmarshal(whole, &want, api.Lenient); err != nil {
			t.Fatal(err)
		}
		texts, reasoning, arguments := map[int]string{}, map[int]string{}, map[int]string{}
		for line := range strings.SplitSeq(written(t, req, scripted(steps, text)), "\n\n") {
			data, ok := strings.CutPrefix(line, "data: {")
			if !ok {
				continue
			}
			var c Chunk
			if err := json.Unmarshal([]byte("{"+data), &c, api.Lenient); err != nil {
				t.Fatal(err)
			}
			for _, choice := range c.Choices {
				d := &choice.Delta
				if d.Content != nil {
					texts[choice.Index] += *d.Content
				}
				reasoning[choice.Index] += d.ReasoningContent
				for _, call := range d.ToolCalls {
					arguments[choice.Index] += call.ID + call.Function.Name + call.Function.Arguments
				}
				if d.FunctionCall != nil {
					arguments[choice.Index] += d.FunctionCall.Name + d.FunctionCall.Arguments
				}
			}
		}
		for _, choice := range want.Choices {
			m, calls := &choice.Message, ""
			for _, call := range m.ToolCalls {
				calls += call.ID + call.Function.Name + call.Function.Arguments
			}
			if m.FunctionCall != nil {
				calls += m.FunctionCall.Name + m.FunctionCall.Arguments
			}
			content := ""
			if m.Content != nil {
				content = *m.Content
			}
			if content != texts[choice.Index] || m.ReasoningContent != reasoning[choice.Index] ||
				len(calls) != len(arguments[choice.Index]) {
				t.Fatalf("choice %d: stream %q %q %q, answer %s", choice.Index, texts[choice.Index], reasoning[choice.Index],
					arguments[choice.Index], whole)
			}
		}
	})
}

// scripted is a stream of the events that steps name.
func scripted(steps []byte, text string) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 1})
		thoughts := map[int]int{}
		e.Begin(0)
		for _, step := range steps {
			choice := int(step/13) % 2
			switch step % 13 {
			case 0:
				e.Text(choice, text)
			case 1:
				e.Refusal(choice, text)
			case 2:
				e.Thought(choice, text, &llm.Thought{Text: text, Format: llm.FormatAnthropic, Index: thoughts[choice]})
			case 3:
				e.Thought(choice, "", &llm.Thought{Signature: "s", Format: llm.FormatAnthropic, WithCalls: true, Index: thoughts[choice]})
				thoughts[choice]++
			case 4:
				e.Call(choice, &llm.CallStart{ID: "c", Name: "f"})
				thoughts[choice]++ // no provider goes on with a thought after a call
			case 5:
				if n := e.Calls(choice); n > 0 {
					e.Input(choice, n-1, text)
				}
			case 6:
				e.Media(choice, &llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})
			case 7:
				e.Thought(choice, text, nil)
			case 8:
				e.Pause()
			case 10:
				e.Citations(choice, []llm.Citation{{URL: text, End: 1}, {Title: text, Native: jsontext.Value(`{"page":1}`)}})
			case 11:
				e.Media(choice, &llm.Media{Kind: llm.Audio, Data: "AA==", Format: "wav"})
			case 12:
				e.Media(choice, &llm.Media{Kind: llm.File, URL: "data:video/mp4;base64,AA=="})
			case 9:
				thoughts[choice]++
				e.Call(choice, &llm.CallStart{ID: "d", Name: "g", Arguments: "{}", Signature: "sig", Thought: &llm.Thought{
					Kind: llm.ThoughtEncrypted, Data: "m|sig", Format: llm.FormatGemini, Index: thoughts[choice],
				}})
				thoughts[choice]++
			}
		}
		for choice := range 2 {
			e.Finish(choice, llm.Ending{Finish: llm.FinishStop, NativeReason: text, Safety: jsontext.Value(`[1]`)})
		}
		e.Usage(&llm.Usage{Input: 1, Output: 2, Total: 3})
	}
}
