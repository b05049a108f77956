package gemini

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// FuzzTranslate: each request that can be decoded becomes valid JSON or a 400.
func FuzzTranslate(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(g.Request))
	}
	ids := []string{"gemini-1.5-pro", "gemini-2.0-flash", "gemini-2.5-pro", "gemini-2.5-flash-image", "gemini-3-pro-preview",
		"gemma-3-27b-it"}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Decode(nil, body)
		if err != nil {
			return
		}
		for _, id := range ids {
			x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: model(t, id)})
			if err != nil {
				if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Param == "" {
					t.Fatalf("%s: %v", id, err)
				}
				continue
			}
			sent := jsontext.Value(x.(*exchange).body)
			var shape struct {
				Contents []content `json:"contents"`
			}
			if !sent.IsValid() || json.Unmarshal(sent, &shape) != nil || len(shape.Contents) == 0 {
				t.Fatalf("%s: not a request: %s", id, sent)
			}
			for i, c := range shape.Contents {
				if c.Role != roleUser && c.Role != roleModel || len(c.Parts) == 0 || i == 0 && c.Role != roleUser || i > 0 &&
					c.Role == shape.Contents[i-1].Role {
					t.Fatalf("%s: content %d of %s", id, i, sent)
				}
			}
		}
	})
}

// FuzzStream: no bytes of an upstream make the stream panic, the chunks can be
// written, and how the bytes arrive changes nothing.
func FuzzStream(f *testing.F) {
	f.Add([]byte(longStream))
	f.Add([]byte("[" + answerWith(`{"text":"a"}`, "") + "," + answerWith(`{"functionCall":{"name":"f","args":{"a":1}}}`, stop) + "]"))
	f.Add([]byte(answerWith(`{"text":"a","thought":true},{"inlineData":{"mimeType":"image/png","data":"AA"}}`,
		`,"finishReason":"MAX_TOKENS"`)))
	f.Add([]byte(eventsOf(`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}`)))
	f.Add([]byte(eventsOf(answerWith(`{"text":"a"}`, "")) + "{\n \"error\": {\"code\": 503}\n}\n"))
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xff\"}]},\"finishReason\":\"STOP\"," +
		"\"logprobsResult\":{\"chosenCandidates\":[{\"token\":\"a\"}]}}]}\r\r"))
	f.Add([]byte(eventsOf(answerWith(partial(`"name":"f","willContinue":true`), ""),
		answerWith(partial(`"partialArgs":[{"jsonPath":"$.a[0]['b']",`+
			`"stringValue":"x"},{"jsonPath":"$.a[1]","numberValue":1}]`), stop))))
	f.Add([]byte(answerWith(`{"text":"é"},{"text":"b"}`, stop+grounded+`,"safetyRatings":[{"a":1}],`+
		`"citationMetadata":{"citations":[{"endIndex":2,"uri":"u"}]}`)))
	f.Add([]byte(answerWith(`{"inlineData":{"mimeType":"audio/wav","data":"AA=="}},{"inlineData":{"mimeType":"audio/wav","data":"AA=="}},`+
		`{"inlineData":{"mimeType":"video/mp4","data":"AA"}}`, stop)))
	x, err := prepare(f, "gemini-2.5-flash", ask)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, streamed, err := both(t, x, bytes.NewReader(body))
		again, restreamed, err2 := both(t, x, iotest.OneByteReader(bytes.NewReader(body)))
		if whole != again || streamed != restreamed || (err == nil) != (err2 == nil) {
			t.Fatalf("%q %q %v\nbyte by byte\n%q %q %v", whole, streamed, err, again, restreamed, err2)
		}
		if err == nil && whole != streamed {
			t.Fatalf("the answer says %q, the stream %q", whole, streamed)
		}
	})
}

// both reads a body as a stream, and puts the same chunks together.
func both(t *testing.T, x *exchange, body io.Reader) (whole, streamed string, err error) {
	s, err := x.start(t.Context(), body)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	w := chat.NewWriter(x.call.Request)
	answer, err := providertest.Completion(x.call.Request, func(yield func(*llm.Event, error) bool) {
		for e, err := range s.run {
			if err == nil && e != nil {
				b.WriteString(contentOf(t, w, e))
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if err != nil {
		return "", b.String(), err
	}
	for _, c := range answer.Choices {
		if c.Index == 0 && c.Message.Content != nil {
			whole = *c.Message.Content
		}
		if c.Index == 0 {
			whole += string(c.Extra)
		}
	}
	if !utf8.ValidString(whole) {
		t.Fatalf("invalid text %q", whole)
	}
	return whole, b.String(), nil
}

// contentOf writes an event as chunks, which must be valid, and returns what they
// add to the content of the first choice.
func contentOf(t *testing.T, w *chat.Writer, e *llm.Event) (content string) {
	text, err := w.Append(nil, e)
	if err != nil {
		t.Fatalf("a chunk that cannot be written: %v", err)
	}
	for event := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n\n")), []byte("\n\n")) {
		if len(event) == 0 {
			continue // an event that clients do not see
		}
		var c chat.Chunk
		if err := json.Unmarshal(bytes.TrimPrefix(event, []byte("data: ")), &c); err != nil {
			t.Fatalf("%s is no chunk: %v", event, err)
		}
		for _, choice := range c.Choices {
			if choice.Delta.Content != nil && choice.Index == 0 {
				content += *choice.Delta.Content
			}
			if choice.Index == 0 {
				content += string(choice.Extra)
			}
		}
	}
	return content
}
