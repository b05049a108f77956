package messages_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/messages"
	"modelgateway/llm"
)

func TestStreamIsWrittenInTheOrderOfTheAPI(t *testing.T) {
	stream := from(llm.Head{ID: "msg_up", Model: "gpt-5"}, func(e *llm.Emitter) {
		e.Thought(0, "The user", nil)
		e.Thought(0, " asks", nil)
		e.Text(0, "Hel")
		e.Text(0, "lo")
		at, _ := e.Call(0, &llm.CallStart{ID: "call_1", Name: "Read"})
		e.Input(0, at, `{"file_path":`)
		e.Input(0, at, `"/a"}`)
		finish(e, llm.FinishToolCalls)
	})
	const want = `event: message_start
data: {"type":"message_start","message":{"id":"msg_up","type":"message","role":"assistant","model":"gpt-5","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":0,` +
		`"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,` +
		`"ephemeral_1h_input_tokens":0},"output_tokens":1,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,` +
		`"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The user"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" asks"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"mgw1.eyJwIjoiIn0"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"Read","input":{},` +
		`"caller":{"type":"direct"}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"/a\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null},` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":30,"cache_creation":` +
		`{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":0},"output_tokens":9,"output_tokens_details":{"thinking_tokens":4},` +
		`"server_tool_use":null,"service_tier":"standard"}}

event: message_stop
data: {"type":"message_stop"}

`
	if got := dialect.Written(t, anyRequest(), stream); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	const message = `{"id":"msg_up","type":"message","role":"assistant","model":"gpt-5","content":[` +
		`{"type":"thinking","thinking":"The user asks","signature":"mgw1.eyJwIjoiIn0"},{"type":"text","text":"Hello"},` +
		`{"type":"tool_use","id":"call_1","name":"Read","input":{"file_path":"/a"},"caller":{"type":"direct"}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null,` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":30,"cache_creation":` +
		`{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":0},"output_tokens":9,"output_tokens_details":{"thinking_tokens":4},` +
		`"server_tool_use":null,"service_tier":"standard"}}`
	if got, err := (messages.Dialect{}).AppendAnswer(nil, anyRequest(), answer); err != nil || string(got) != message {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, message, err)
	}
}

func TestMediaThatTheModelMadeAreNamed(t *testing.T) {
	m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Text(0, "a")
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/webp;base64,AAAA"})
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "https://example.com/a.png"})
		e.Media(0, &llm.Media{Kind: llm.Audio, Data: "BBBB", Format: "wav"})
		e.Media(0, &llm.Media{Kind: llm.File, URL: "data:video/mp4;base64,CCCC"})
		finish(e, llm.FinishStop)
	}))
	want := []string{
		"a", "[image left out: image/webp, 1 KB, for which this API has no form]", "![image](https://example.com/a.png)",
		"[audio left out: wav, 1 KB, for which this API has no form]", "[file left out: video/mp4, 1 KB, for which this API has no form]",
	}
	if kinds(m) != "text text text text text" {
		t.Fatalf("%s", meaning(m))
	}
	for i, b := range m.Content {
		if b.Text != want[i] {
			t.Errorf("%s, not %s", b.Text, want[i])
		}
	}
}

func TestCitationsStandInTheTextThatTheyAreOf(t *testing.T) {
	native := jsontext.Value(`{"type":"char_location","cited_text":"q","document_index":0}`)
	m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Text(0, "Grün")
		e.Citations(0, []llm.Citation{{End: 4, Title: "doc", Quote: "q", Native: native}})
		e.Block(0)
		e.Text(0, " ist")
		e.Citations(0, []llm.Citation{{Start: 4, End: 8, URL: "https://example.com/a", Title: "A", Quote: "q"}, {Start: 4, End: 8, Title: "no address"}})
		finish(e, llm.FinishStop)
	}))
	if kinds(m) != "text text" || len(m.Content[0].Citations) != 1 || string(m.Content[0].Citations[0]) != string(native) ||
		len(m.Content[1].Citations) != 1 || string(m.Content[1].Citations[0]) !=
		`{"type":"web_search_result_location","url":"https://example.com/a","title":"A","cited_text":"q","encrypted_index":""}` {
		t.Errorf("%s", meaning(m))
	}
	dialect.Streamed(t, anyRequest(), answers(func(e *llm.Emitter) { // there is no text left to hold them
		e.Call(0, &llm.CallStart{ID: "a", Name: "f", Arguments: "{}"})
		e.Citations(0, []llm.Citation{{URL: "https://example.com/a"}})
		finish(e, llm.FinishToolCalls)
	}))
}
