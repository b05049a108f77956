package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// answerText is the text of every answer: about sixty words, with characters
// that JSON has to escape and that take two and four bytes in UTF-8.
const answerText = "The \"gateway\" pattern puts one door in front of many rooms.\n\nIt checks who comes in, counts how often, and forwards " +
	"what was asked to whoever can answer it best. A good one is like a café's waiter: quick, exact, and never " +
	"between you and your coffee ☕. It forgets nothing, invents nothing, and its bill is \"to the cent\" 🎉 — even on a busy Sunday morning, when everybody comes at once."

// streamText is the text of every stream: 64 words, each of which is one chunk.
const streamText = "Streams are \"small talk\" between machines: one word, a breath, and another word.\n\nNobody wants to wait for the whole " +
	"sentence when its first half is already here. So the café's waiter brings each cup as it is ready 🎉 and the table " +
	"never goes quiet. No cup is lost, none is brought twice, and the \"last one\" comes with the bill: then everybody knows."

// ContentChunks is the number of chunks of a stream that carry text.
const ContentChunks = 64

// streamWords splits streamText into the chunks.
func streamWords() []string {
	words := strings.Split(streamText, " ")
	for i := range words[1:] {
		words[i+1] = " " + words[i+1]
	}
	return words
}

// wire is one provider's answer and stream, rendered once.
type wire struct {
	contentType string // of the stream
	answer      []byte
	before      [][]byte // events before the first text
	chunks      [][]byte // one event for each word
	finish      []byte   // nil: it is in the last chunk
	usage       []byte   // sent only on request; nil: always in other events
	after       [][]byte
}

// quoted is a JSON string as the providers write it, without needless escapes.
func quoted(text string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string always can be encoded
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// padding is random letters, the same in every run.
func padding(random *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

// openAIWire is in the form of gpt-4o, with the members its events have today.
func openAIWire() *wire {
	const usage = `{"prompt_tokens":58,"completion_tokens":66,"total_tokens":124,` +
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
	random := rand.New(rand.NewPCG(1, 2))
	event := func(choices, usage string, pad int) []byte {
		return fmt.Appendf(
			nil,
			`data: {"id":"chatcmpl-CMKB4CzjM9AbvNcftqEsFcWBSrZNT","object":"chat.completion.chunk","created":1759436814,`+
				`"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_cbf1785567","choices":[%s],"usage":%s,"obfuscation":"%s"}`+"\n\n",
			choices,
			usage,
			padding(random, pad),
		)
	}
	choice := func(delta, finish string) string {
		return `{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}`
	}
	w := &wire{
		contentType: "text/event-stream; charset=utf-8",
		answer: []byte(
			`{"id":"chatcmpl-CMKB0p2hTzWyqXJfkVdqWmvJc8rQd","object":"chat.completion","created":1759436814,"model":"gpt-4o-2024-08-06",` +
				`"choices":[{"index":0,"message":{"role":"assistant","content":` + quoted(answerText) + `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
				`"usage":` + usage + `,"service_tier":"default","system_fingerprint":"fp_cbf1785567"}`,
		),
		before: [][]byte{event(choice(`{"role":"assistant","content":"","refusal":null}`, "null"), "null", 14)},
		finish: event(choice(`{}`, `"stop"`), "null", 10),
		usage:  event("", usage, 6),
		after:  [][]byte{[]byte("data: [DONE]\n\n")},
	}
	for _, word := range streamWords() {
		w.chunks = append(w.chunks, event(choice(`{"content":`+quoted(word)+`}`, "null"), "null", max(1, 17-len(word))))
	}
	return w
}

// anthropicWire is in the form of claude-haiku-4-5, with the spaces that its
// events carry in front of their last brace.
func anthropicWire() *wire {
	const model = "claude-haiku-4-5-20251001"
	random := rand.New(rand.NewPCG(3, 4))
	event := func(name, members string) []byte {
		if members != "" {
			members = "," + members
		}
		return fmt.Appendf(nil, "event: %s\ndata: {\"type\":\"%s\"%s%s}\n\n", name, name, members, strings.Repeat(" ", random.IntN(16)))
	}
	const cache = `"cache_creation_input_tokens":0,"cache_read_input_tokens":0`
	const tier = `"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}`
	w := &wire{
		contentType: "text/event-stream; charset=utf-8",
		answer: []byte(
			`{"model":"` + model + `","id":"msg_01V2noLbAb2NgKnjaNw6Cn3w","type":"message","role":"assistant","content":[{"type":"text","text":` + quoted(answerText) +
				`}],"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":58,` + cache + `,` + tier +
				`,"output_tokens":88,"service_tier":"standard","inference_geo":"not_available"}}`,
		),
		before: [][]byte{
			event(
				"message_start",
				`"message":{"model":"`+model+`","id":"msg_015uV9WrrY9nhNRUqWuTcEtm","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,`+
					`"stop_details":null,"usage":{"input_tokens":58,`+cache+`,`+tier+`,"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"}}`,
			),
			event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
			[]byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
		},
		finish: event("content_block_stop", `"index":0`),
		after: [][]byte{
			event(
				"message_delta",
				`"delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":58,`+cache+`,"output_tokens":66}`,
			),
			event("message_stop", ""),
		},
	}
	for _, word := range streamWords() {
		w.chunks = append(w.chunks, event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+quoted(word)+`}`))
	}
	return w
}

// geminiWire is in the form of gemini-2.5-flash: the finish is in the last
// chunk, the usage in each.
func geminiWire() *wire {
	body := func(text, finish string, out int) string {
		return fmt.Sprintf(
			`{"candidates": [{"content": {"parts": [{"text": %s}],"role": "model"},%s"index": 0}],"usageMetadata": {"promptTokenCount": 58,"candidatesTokenCount": %d,`+
				`"totalTokenCount": %d,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 58}]},"modelVersion": "gemini-2.5-flash","responseId": "6hkqaYC5BbGEz7IPwb3ggA8"}`,
			quoted(text),
			finish,
			out,
			58+out,
		)
	}
	const stop = `"finishReason": "STOP",`
	w := &wire{contentType: "text/event-stream", answer: []byte(body(answerText, stop, 88))}
	words := streamWords()
	for i, word := range words {
		finish := ""
		if i == len(words)-1 {
			finish = stop
		}
		w.chunks = append(w.chunks, []byte("data: "+body(word, finish, i+1)+"\r\n\r\n"))
	}
	return w
}

// responsesWire is in the form of gpt-4o in the Responses API.
func responsesWire() *wire {
	random := rand.New(rand.NewPCG(5, 6))
	number := 0
	event := func(name, members string) []byte {
		text := fmt.Appendf(nil, "event: %s\ndata: {\"type\":\"%s\",%s,\"sequence_number\":%d}\n\n", name, name, members, number)
		number++
		return text
	}
	const at = `"item_id":"msg_68fd1c7e0d2481908d6bb3b5f0c3c0e4","output_index":0,"content_index":0,`
	item := func(status, content string) string {
		return `{"id":"msg_68fd1c7e0d2481908d6bb3b5f0c3c0e4","type":"message","status":"` + status + `","content":[` + content + `],"role":"assistant"}`
	}
	part := func(text string) string {
		return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quoted(text) + `}`
	}
	response := func(status, output, usage string) string {
		return `{"id":"resp_0b9d6f5c8f6a4f0d0068fd1c7d7b5c8190a5f6d8e9a1b2c3d4","object":"response","created_at":1761418365,"status":"` + status +
			`","background":false,"error":null,"incomplete_details":null,"instructions":` + quoted(instructions) + `,"max_output_tokens":1024,` +
			`"max_tool_calls":null,"model":"gpt-4o-2024-08-06","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,` +
			`"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default","store":false,` +
			`"temperature":0.7,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,` +
			`"truncation":"disabled","usage":` + usage + `,"user":null,"metadata":{}}`
	}
	const usage = `{"input_tokens":58,"input_tokens_details":{"cached_tokens":0},"output_tokens":66,"output_tokens_details":{"reasoning_tokens":0},` +
		`"total_tokens":124}`
	w := &wire{
		contentType: "text/event-stream; charset=utf-8",
		answer:      []byte(response("completed", item("completed", part(answerText)), usage)),
		before: [][]byte{
			event("response.created", `"response":`+response("in_progress", "", "null")),
			event("response.in_progress", `"response":`+response("in_progress", "", "null")),
			event("response.output_item.added", `"output_index":0,"item":`+item("in_progress", "")),
			event("response.content_part.added", at+`"part":`+part("")),
		},
	}
	for _, word := range streamWords() {
		w.chunks = append(w.chunks, event("response.output_text.delta",
			at+`"delta":`+quoted(word)+`,"logprobs":[],"obfuscation":"`+padding(random, max(1, 17-len(word)))+`"`))
	}
	w.finish = event("response.output_text.done", at+`"text":`+quoted(streamText)+`,"logprobs":[]`)
	w.after = [][]byte{
		event("response.content_part.done", at+`"part":`+part(streamText)),
		event("response.output_item.done", `"output_index":0,"item":`+item("completed", part(streamText))),
		event("response.completed", `"response":`+response("completed", item("completed", part(streamText)), usage)),
	}
	return w
}
