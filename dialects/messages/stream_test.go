package messages_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/messages"
	"modelgateway/llm"
)

// The other events are in tests/archive, whose clients ask for no thoughts.
func TestThoughtsAreWrittenInTheOrderOfTheAPI(t *testing.T) {
	const want = `
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
data: {"type":"content_block_start","index":1,`
	stream := answers(func(e *llm.Emitter) {
		e.Thought(0, "The user", nil)
		e.Thought(0, " asks", nil)
		e.Text(0, "Hello")
		finish(e, llm.FinishStop)
	})
	if got := dialect.Written(t, anyRequest(), stream); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const whole = `"content":[{"type":"thinking","thinking":"The user asks","signature":"mgw1.eyJwIjoiIn0"},{"type":"text",`
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := messages.Dialect().AppendAnswer(nil, anyRequest(), answer); err != nil || !strings.Contains(string(got), whole) {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, whole, err)
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

func TestFirstCallIsStreamedAndAnotherOneWaitsForItsEndOnly(t *testing.T) {
	w := messages.Dialect().NewWriter(anyRequest(), nil)
	var text []byte
	seen := func(part string) bool { return strings.Contains(string(text), part) }
	stream := answers(func(e *llm.Emitter) {
		a, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
		e.Input(0, a, `{"x":`)
		b, _ := e.Call(0, &llm.CallStart{ID: "b", Name: "g", Arguments: "{"})
		if !seen(`"id":"a"`) || !seen(`{\"x\":`) || seen(`"id":"b"`) {
			t.Errorf("%s", text)
		}
		e.Input(0, a, `1}`)
		if !seen(`"id":"b"`) {
			t.Errorf("the second call is still held: %s", text)
		}
		e.Input(0, b, `"late"`)
		if !seen(`\"late\"`) {
			t.Errorf("the second call is not streamed: %s", text)
		}
		c, _ := e.Call(0, &llm.CallStart{ID: "c", Name: "h", Arguments: "{}"})
		e.Input(0, b, `:2}`)
		e.Input(0, c, `{}`) // some servers send arguments twice
		finish(e, llm.FinishToolCalls)
	})
	for e := range stream {
		var err error
		if text, err = w.Append(text, e); err != nil {
			t.Fatal(err)
		}
	}
	m, err := check(string(w.Done(text)))
	if err != nil || kinds(m) != "tool_use tool_use tool_use" || string(m.Content[2].Input) != "{}" {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCallWithoutArgumentsHasAnEmptyObject(t *testing.T) {
	for _, arguments := range []string{"", " \n", "{}", "null", `""`, " {} "} {
		m := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			at, _ := e.Call(0, &llm.CallStart{ID: "a", Name: "f"})
			e.Input(0, at, arguments)
			finish(e, llm.FinishToolCalls)
		}))
		if len(m.Content) != 1 || string(m.Content[0].Input) != "{}" {
			t.Errorf("%q: %s", arguments, meaning(m))
		}
	}
}
