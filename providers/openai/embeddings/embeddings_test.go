package embeddings

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/dialects/embeddings"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
)

// The answer to 2,048 inputs is longer than what other answers may have.
func TestVectorsPassThroughOnePiece(t *testing.T) {
	vector := []byte(`{"object":"embedding","embedding":[` + strings.Repeat("-0.01234567,", 1535) + `1e-05],"index":0}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[`))
		for i := range 2048 {
			if i > 0 {
				_, _ = w.Write([]byte{','})
			}
			_, _ = w.Write(vector)
		}
		_, _ = w.Write([]byte(`],"model":"m","usage":{"prompt_tokens":2048,"total_tokens":2048}}`))
	}))
	defer server.Close()
	p := apiAt(server.URL)
	_, _, _ = vectorsOf(t, p) // fills the pool, and opens the connection
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	length, last, err := vectorsOf(t, p)
	runtime.ReadMemStats(&after)
	if err != nil || last.Usage == nil || last.Usage.Input != 2048 || last.Head.Model != "m" {
		t.Fatalf("%v, %+v", err, last)
	}
	const bound = 1 << 20
	if took := after.TotalAlloc - before.TotalAlloc; length < 2048*len(vector) || took > bound {
		t.Errorf("%d bytes took %d", length, took)
	}
}

// apiAt is the API at an address.
func apiAt(url string) *API {
	opts := openaitest.Options(url, providers.Server{})
	return New(wire.NewClient(opts), opts)
}

// vectorsOf is how many bytes an answer has, and its last event.
func vectorsOf(t *testing.T, p *API) (length int, last llm.Event, err error) {
	t.Helper()
	req, err := embeddings.Decode(nil, []byte(`{"model":"m","input":["a"`+strings.Repeat(`,"a"`, 2047)+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Prepare(providers.Call{Request: req, Model: &catalog.Model{Upstream: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(t.Context(), "k")
	if err != nil {
		return 0, last, err
	}
	for e, err := range stream {
		if err != nil {
			return length, last, err
		}
		length, last = length+len(e.Raw), *e
	}
	return length, last, nil
}

func TestBrokenVectorsAreRefusedBeforeTheirFirstByte(t *testing.T) {
	var answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	defer server.Close()
	p := apiAt(server.URL)
	for _, answer = range []string{
		``, `[]`, `nothing`, `{}`, `{"data":[]}`, `{"data":[{"embedding":[1,2`, `{"data":[{"embedding":[1]}]`, `{"data":[{"embedding":[1]}}`,
		`{"data":[{"embedding":"AA`, `{"data":[1]} {}`, `{"data":[1],"usage":7}`, `{"error":{"message":"no"},"data":[1]}`,
		`{"x":"` + strings.Repeat("x", 70<<10) + `","data":[1]}`,
	} {
		_, _, err := vectorsOf(t, p)
		if _, ok := errors.AsType[*providers.Refusal](err); !ok {
			t.Errorf("%.60s: %v", answer, err)
		}
	}
}

func TestOutlineOfVectors(t *testing.T) {
	var o outline
	o.add(fmt.Appendf(nil, `{"object":"list","data":[%s{"embedding":"AA\\AA]","index":9}],"model":"m\"]","usage":{"prompt_tokens":7}}`,
		strings.Repeat(`{"object":"embedding","embedding":[ -0.5,1e-7 , 3],"index":0},`, 99)))
	text, err := o.whole()
	if want := `{"object":"list","data":[],"model":"m\"]","usage":{"prompt_tokens":7}}`; string(text) != want || err != nil || !o.listed {
		t.Errorf("%s, %v", text, err)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"data":[{"embedding":[1,-2e5],"text":"a\"]\\"},[]],"usage":{"total_tokens":7}}`), 9)
	f.Add([]byte(`["[\u005d"],[[`), 3)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		var whole, pieces outline
		whole.add(bytes.Clone(text))
		for rest := text; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			pieces.add(rest[:n])
			rest = rest[n:]
		}
		a, errA := whole.whole()
		b, errB := pieces.whole()
		if !bytes.Equal(a, b) || !errors.Is(errB, errA) || whole.listed != pieces.listed || len(a) > len(text) {
			t.Fatalf("%q, %v whole; %q, %v in pieces", a, errA, b, errB)
		}
	})
}

func BenchmarkOutline(b *testing.B) {
	text := []byte(`{"data":[` + strings.Repeat(`{"embedding":[`+strings.Repeat("-0.01234567,", 1535)+`1e-05],"index":0},`, 99) + `{}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var o outline
		o.add(text)
	}
}
