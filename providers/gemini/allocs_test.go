//go:build !race

package gemini

import (
	"strings"
	"testing"

	"modelgateway/models/api/chat"
)

func TestPreparingAllocatesAtMost40Times(t *testing.T) {
	req, err := chat.Decode([]byte(`{"model":"m","messages":[{"role":"system","content":"Be brief."},` +
		`{"role":"user","content":"What is the tide?"}],"max_tokens":256,"temperature":0.7}`))
	if err != nil {
		t.Fatal(err)
	}
	p, m := provider("http://127.0.0.1:1"), model(t, "gemini-2.5-flash")
	n := testing.AllocsPerRun(200, func() {
		if _, err := p.Prepare(callOf(req, m)); err != nil {
			t.Fatal(err)
		}
	})
	t.Log(n)
	if n > 40 {
		t.Errorf("%v allocations, at most 40", n)
	}
}

func TestATextEventAllocatesOnce(t *testing.T) {
	x, err := prepare(t, "gemini-2.5-flash", ask)
	if err != nil {
		t.Fatal(err)
	}
	const events = 1000
	body := strings.Repeat(textEvent, events) + eventsOf(answerWith(`{"text":"x"}`, stop))
	n := testing.AllocsPerRun(10, func() {
		s, err := x.start(t.Context(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.run {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if each := n / events; each > 1.05 {
		t.Errorf("%.2f allocations for one chunk, at most 1", each)
	}
}
