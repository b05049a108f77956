package responses

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// FuzzNativeResponse sends any stream: what the client gets is how the upstream's begins, but
// for the id of the response, in however many pieces it comes.
func FuzzNativeResponse(f *testing.F) {
	f.Add([]byte(lines(firstEvent, `{"type":"response.output_text.delta","delta":"resp_0123456789"}`, lastEvent)), 7)
	f.Add([]byte(": x\n\n"+lines(firstEvent, `{"type":"error","message":"m"}`)), 3)
	for _, rec := range recordedNatively(f) {
		f.Add(rec.Body, 40)
	}
	n := nativeOf(f, streaming)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		got := passOn(t, n, bytes.NewReader(body))
		if !providertest.Begins(withoutHandles(string(body)), withoutHandles(got.Bytes)) {
			t.Fatalf("%q is not how %q begins", got.Bytes, body)
		}
		cut := min(max(size, 0), len(body))
		again := passOn(t, n, iotest.HalfReader(io.MultiReader(bytes.NewReader(body[:cut]), bytes.NewReader(body[cut:]))))
		same := again.Bytes == got.Bytes || again.Bytes+"\n" == got.Bytes // the LF after a CR may come later
		if !same || (again.Err == nil) != (got.Err == nil) {
			t.Fatalf("in pieces %q, %v; whole %q, %v", again.Bytes, again.Err, got.Bytes, got.Err)
		}
	})
}

// withoutHandles is a stream with the ids of its upstream. These are told by any event.
func withoutHandles(stream string) string { return strings.ReplaceAll(stream, "_mgw_openai_k", "") }

// FuzzNativeResponseBody edits any request that is read: it stays valid, and the same but for
// its model where the gateway has put nothing into it.
func FuzzNativeResponseBody(f *testing.F) {
	seal := roundtrip.SealWhole(&llm.Thought{Format: llm.FormatAnthropic, Text: "t"})
	for _, body := range []string{
		`{"model":"m","input":"hi"}`,
		`{"input":[{"type":"reasoning","encrypted_content":"` + seal + `"} , {"type":"compaction","encrypted_content":"` + seal + `"}],"model":"m"}`,
		`{"input":[{"type":"function_call","call_id":"` + roundtrip.Join("c", []byte("[]")) +
			`"}],"model":"m","tools":[{"type":"shell","environment":{}}]}`,
	} {
		f.Add([]byte(body))
	}
	p := apiAt("http://127.0.0.1:1")
	p.objects = config.ObjectsAllow
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := responses.Decode(nil, body)
		if err != nil {
			return
		}
		n, err := p.native(providers.Call{Request: req, Model: &catalog.Model{Provider: catalog.OpenAI, Upstream: "gpt-up"}}, createPath)
		if err != nil {
			return
		}
		got := bytes.Join(n.body, nil)
		again, err := responses.Decode(nil, got)
		if err != nil || again.Model != "gpt-up" || !jsontext.Value(got).IsValid() {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
		if roundtrip.Has(body) || bytes.Contains(body, []byte("mgw1.")) || bytes.Contains(body, []byte(`\u`)) {
			return // there may be something to unpack
		}
		if want := withModel(t, body, `"gpt-up"`); string(got) != want {
			t.Fatalf("%q became %q, not %q", body, got, want)
		}
	})
}

// withModel is a body with another model.
func withModel(t *testing.T, body []byte, model string) string {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		if name.Kind() != jsontext.KindString {
			continue // the bracket
		}
		is := name.String() == "model"
		value, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		if end := dec.InputOffset(); is {
			return string(body[:end-int64(len(value))]) + model + string(body[end:])
		}
	}
}
