//go:build !race

package openai

import (
	"io"
	"strings"
	"testing"

	"modelgateway/models/api/chat"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

func TestAllocationsOfTheRequest(t *testing.T) {
	p := chatOnly("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		req, err := chat.Decode(prompt(size))
		if err != nil {
			t.Fatal(err)
		}
		call := providers.Call{Request: req, Model: &catalog.Model{Upstream: "gpt-4o",
			Traits: catalog.Traits{LimitField: "max_completion_tokens"}}}
		n := testing.AllocsPerRun(200, func() {
			if _, err := p.Prepare(call); err != nil {
				t.Fatal(err)
			}
		})
		if n > 10 {
			t.Errorf("%d bytes: %v allocations, at most 10", size, n)
		}
	}
}

func TestAllocationsOfTheAnswer(t *testing.T) {
	text := []byte(wholeText)
	if n := testing.AllocsPerRun(200, func() {
		if _, ok := new(fastReader).answer(text); !ok {
			t.Fatal("not read")
		}
	}); n > 8 {
		t.Errorf("%v allocations, at most 8", n)
	}
}

// A chunk's text is copied out of the reader's buffer: that is its one allocation.
func TestAllocationsOfAChunk(t *testing.T) {
	const events = 1000
	body := strings.Repeat(textEvent, events) + "data: [DONE]\n\n"
	x := plainExchange()
	n := testing.AllocsPerRun(10, func() {
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(body))))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range stream {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if each := n / events; each > 1.05 {
		t.Errorf("%.2f allocations for one chunk, at most 1", each)
	}
}
