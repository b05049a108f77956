package chat

import (
	"bytes"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

// without is an object without these members, the rest of its bytes as they
// are.
func without(object []byte, names ...string) string {
	out := []byte{'{'}
	for name, value := range jsonbytes.Members(object) {
		left := false
		for _, n := range names {
			left = left || name.Is(n)
		}
		if left {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return string(append(out, '}'))
}

// Of the recorded streams every event of text reaches the client in the
// upstream's own bytes, but for its padding and the usage.
func TestTextIsForwardedInTheUpstreamsBytes(t *testing.T) {
	forwarded, total := 0, 0
	for _, rec := range providertest.Load(t, providertest.Own()) {
		if rec.Provider != catalog.OpenAI || !rec.Stream || rec.Failed() {
			continue
		}
		came := map[string]bool{}
		for _, event := range providertest.Events(rec.Body) {
			for line := range bytes.Lines(event) {
				if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok && jsontext.Value(text).IsValid() {
					came[without(text, "obfuscation", "usage")] = true
				}
			}
		}
		stream, err := plainExchange().events(t.Context(), upstream.NewEvents(io.NopCloser(bytes.NewReader(rec.Body))))
		if err != nil {
			continue
		}
		for e, err := range stream {
			if err != nil {
				break
			}
			if e == nil || e.Kind != llm.EventText {
				continue
			}
			total++

			if came[string(e.Raw)] {
				forwarded++
			}
		}
	}
	// What compatible servers leave out is filled in.
	if total < 40 || forwarded < total*9/10 {
		t.Errorf("%d of %d events of text have the upstream's bytes", forwarded, total)
	}
	t.Logf("%d of %d events of text have the upstream's bytes", forwarded, total)
}

func TestForwardedEventLosesOnlyItsPaddingAndUsage(t *testing.T) {
	const (
		head = `{"id":"x","object":"chat.completion.chunk","created":5,"model":"m","service_tier":"default","choices":[{"index":0,` +
			`"delta":{"content":`
		tail  = `},"logprobs":null,"finish_reason":null}]`
		begin = `{"id":"x","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"role":"assistant",` +
			`"content":""},"finish_reason":null}]}`
	)
	for _, usage := range []bool{false, true} {
		body := data(
			begin,
			head+`"a"`+tail+`,"usage":null,"obfuscation":"xy"}`,
			head+`"b\u00e9\n"`+tail+`,"usage":null,"obfuscation":"z"}`,
			done,
		)
		x := plainExchange()
		x.call.Request.Usage = usage
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(bytes.NewReader([]byte(body)))))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for e, err := range stream {
			if err != nil {
				t.Fatal(err)
			}
			if e != nil && e.Kind == llm.EventText {
				texts = append(texts, string(e.Raw))
			}
		}
		want := head + `"b\u00e9\n"` + tail + "}"
		if usage {
			want = head + `"b\u00e9\n"` + tail + `,"usage":null}`
		}
		if len(texts) != 2 || texts[1] != want {
			t.Errorf("usage %t: got %q\nwant %q", usage, texts, want)
		}
	}
}
