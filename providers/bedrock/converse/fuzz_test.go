package converse

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
)

// FuzzTranslate: each request that can be decoded becomes valid JSON or a 400.
func FuzzTranslate(f *testing.F) {
	for _, g := range goldens(f) {
		if g.Dialect == llm.Chat {
			f.Add([]byte(g.Request))
		}
	}
	a := newAPI("")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Decode(nil, body)
		if err != nil {
			return
		}
		for _, m := range []string{nova, oss, "meta.llama4-maverick-17b-instruct-v1:0", "mistral.ministral-3-8b-instruct", "zai.glm-4.7"} {
			x, err := a.Prepare(providers.Call{Request: req, Model: model(m)})
			if err != nil {
				if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Param == "" {
					t.Fatalf("%s: %v", m, err)
				}
				continue
			}
			if sent := jsontext.Value(x.Properties().Body[0]); !sent.IsValid() || !utf8.Valid(sent) {
				t.Fatalf("%s: %s", m, sent)
			}
			all := x.(*exchange)
			again, err := a.Prepare(all.call)
			if err != nil || string(again.Properties().Body[0]) != string(all.body) {
				t.Fatalf("%s: it is translated differently the second time", m)
			}
		}
	})
}

// FuzzStream: no bytes of an upstream make the stream panic, and a stream without an error has an end.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/answers/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	var body atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(*body.Load())
	}))
	f.Cleanup(server.Close)
	x, err := newAPI(server.URL).Prepare(providers.Call{Request: decode(f, llm.Chat, streaming(ask)), Model: model(nova)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body.Store(&text)
		stream, err := x.Open(t.Context(), testKey)
		if err != nil {
			return
		}
		if answer, err := llm.Collect(stream); err == nil && (len(answer.Choices) != 1 || answer.Choices[0].Finish == "") {
			t.Fatalf("%+v", answer)
		}
	})
}
