//go:build !race

package anthropic

import (
	"testing"

	"modelgateway/models/llm"
	"modelgateway/providers"
)

func TestAllocationsOfPrepare(t *testing.T) {
	call := providers.Call{
		Request: chatRequest(t, `{"model":"m","max_tokens":256,"temperature":0.7,`+talk(`{"role":"system","content":"Be brief."}`,
			user("What is the tide?"))+`}`),
		Model: model(t, budgetNew),
	}
	p := provider("http://127.0.0.1:1")
	n := testing.AllocsPerRun(200, func() {
		if _, err := p.Prepare(call); err != nil {
			t.Fatal(err)
		}
	})
	t.Log(n)
	if n > 33 {
		t.Errorf("%v allocations, at most 33", n)
	}
}

func TestAllocationsOfAnEvent(t *testing.T) {
	const events = 1000
	body := textStream(events)
	n := testing.AllocsPerRun(10, func() {
		s := newStream(body)
		if err := s.readStart(); err != nil {
			t.Fatal(err)
		}
		s.run(func(*llm.Event, error) bool { return true })
	})
	if each := n / events; each > 2.05 {
		t.Errorf("%.2f allocations for one event, at most 2", each)
	}
}
