package anthropic

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/providers/providertest"
)

const wholeText = `{"model":"claude-haiku-4-5-20251001","id":"msg_01V2noLbAb2NgKnjaNw6Cn3w","type":"message","role":"assistant",` +
	`"content":[{"type":"text","text":"The \"gateway\" pattern puts one door in front of many rooms.\n\nIt checks who comes in."}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":58,"cache_creation_input_tokens":0,` +
	`"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":88,` +
	`"service_tier":"standard","inference_geo":"not_available"}}`

// sameMessage fails where the fast reader takes what decoding in full refuses, or reads
// something else.
func sameMessage(t *testing.T, text []byte) (fast bool) {
	t.Helper()
	var r fastReader
	got, fast := r.message(text)
	if !fast {
		return false
	}
	want, err := decodeMessage(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want.Content = nil // its blocks are compared
	if len(want.blocks) == 0 {
		want.blocks = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v\nwant %+v\nof   %s", got, want, text)
	}
	return true
}

func sameUsage(t *testing.T, text []byte) {
	t.Helper()
	var want usage
	_ = json.Unmarshal(text, &want, api.Lenient)
	if got := readUsage(text); got != want {
		t.Fatalf("read %+v\nwant %+v\nof   %s", got, want, text)
	}
}

func FuzzMessageIsReadAsItIsDecoded(f *testing.F) {
	for _, text := range []string{
		wholeText,
		`{"type":"message","content":[]}`,
		`{"type":"message","content":[{"type":"text","text":"a","citations":null},{"type":"text"}],"stop_sequence":"x","container":{"id":1}}`,
		`{"type":"message","content":[{"type":"text","text":"a","id":5}]}`,
		`{"type":"message","content":[{"type":"text","text":"a"}],"usage":null}`,
		`{"type":"message","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1.5,"output_tokens":-1}}`,
		`{"type":"message","type":"message","content":[]}`,
		`{"type":"error","error":{"type":"x","message":"y"}}`,
		`{"input_tokens":1,"output_tokens":1099511627776,"speed":"fast"}`,
		`{"input_tokens":null,"cache_creation":null,"server_tool_use":{"web_search_requests":2,"code_execution_requests":null,"x":[1]}}`,
		`{"output_tokens_details":{"thinking_tokens":7},"service_tier":5}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameMessage(t, text)
		sameUsage(t, text)
	})
}

// The usual answer, and all that are recorded.
func TestMessagesAreReadAsTheyAreDecoded(t *testing.T) {
	t.Parallel()
	if !sameMessage(t, []byte(wholeText)) {
		t.Error("the usual answer is decoded in full")
	}
	fast := 0
	for _, r := range providertest.Load(t, providertest.Dir()) {
		if r.Provider == "anthropic" && !r.Stream && sameMessage(t, r.Body) {
			fast++
		}
	}
	if fast == 0 {
		t.Error("every recorded answer is decoded in full")
	}
}

func BenchmarkReadMessage(b *testing.B) {
	for _, way := range []struct {
		name string
		read func([]byte) (*wholeMessage, error)
	}{{"fast", readMessage}, {"in full", decodeMessage}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := way.read([]byte(wholeText)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
