package responses

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// Of any body of a stream the events keep what llm.Stream promises, and a body that is cut
// before its end mark is an error.
func FuzzResponseStream(f *testing.F) {
	for _, body := range streamsOnFile(f) {
		f.Add(body[:min(len(body), 1500)])
	}
	f.Add(responseEvents(itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "a"), completed))
	f.Add(responseEvents(itemEvent(true, 3, `{"type":"function_call","arguments":"{"}`), deltaEvent("function_call_arguments", 3, 9, "}"), completed))
	f.Add(responseEvents(`{"type":"error","message":"x"}`))
	x := respondingTo(f, `,"stream":true,"stop":["ab","b"]`)
	f.Fuzz(func(t *testing.T, body string) {
		stream, err := x.streamed(t, strings.NewReader(body))
		if err != nil {
			return
		}
		begun, finished, calls := false, false, 0
		for e, err := range stream {
			switch {
			case err != nil:
				return
			case e == nil:
				continue
			case e.Kind == llm.EventBegin && !begun:
				begun = true
			case !begun || finished && e.Kind != llm.EventUsage:
				t.Fatalf("%+v out of order", e)
			case e.Kind == llm.EventCall && e.CallIndex == calls:
				calls++
			case e.Kind == llm.EventInput && e.CallIndex < calls:
			case e.Kind == llm.EventCall || e.Kind == llm.EventInput:
				t.Fatalf("%+v of %d calls", e, calls)
			case e.Kind == llm.EventFinish:
				finished = true
			}
		}
		if !finished {
			t.Fatal("the stream ended without an error and without a finish")
		}
	})
}

// A text is cut at the same place however it is divided, and what comes out is the beginning
// of what went in.
func FuzzStopper(f *testing.F) {
	f.Add("one two three", "two", "o t", 3)
	f.Add("aaab", "aab", "", 1)
	f.Add("é", "\xa9", "b", 1)
	f.Fuzz(func(t *testing.T, text, one, two string, size int) {
		if !utf8.ValidString(text) || !utf8.ValidString(one) || !utf8.ValidString(two) {
			t.Skip()
		}
		run := func(pieces ...string) (out, stop string) {
			s := stopper{stops: []string{one, two}}
			for _, piece := range pieces {
				piece, stop = s.take(piece)
				if out += piece; s.cut {
					return out, stop
				}
			}
			return out + s.held, ""
		}
		var pieces []string
		for part := range slices.Chunk([]byte(text), max(1, size%7)) {
			pieces = append(pieces, string(part))
		}
		whole, stop := run(text)
		if got, by := run(pieces...); got != whole || by != stop {
			t.Fatalf("%q by %q in pieces, %q by %q as a whole", got, by, whole, stop)
		}
		if !strings.HasPrefix(text, whole+stop) || stop == "" && whole != text {
			t.Fatalf("%q by %q of %q", whole, stop, text)
		}
	})
}

// Any request of chat completions can be written for the Responses API, or is refused with
// the field at fault; the same one has the same bytes.
func FuzzRespondingRequest(f *testing.F) {
	for _, tt := range respondedGoldens {
		f.Add([]byte(tt.body))
	}
	for _, tt := range respondedGoldens {
		f.Add([]byte(tt.body))
	}
	p, m := apiAt("http://127.0.0.1:1"), openaitest.Model(f, "gpt-6-sol")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Decode(nil, body)
		if err != nil {
			t.Skip()
		}
		for _, r := range []*llm.Request{req, providertest.Foreign(req)} {
			x, err := p.respond(providers.Call{Request: r, Model: m})
			if err != nil {
				if e := api.AsError(err); e.Status != 400 || e.Param == "" {
					t.Fatalf("%v: %s", err, body)
				}
				continue
			}
			again, err := p.respond(providers.Call{Request: r, Model: m})
			if err != nil || string(again.(*respondingExchange).body) != string(x.(*respondingExchange).body) {
				t.Fatalf("other bytes: %v", err)
			}
		}
	})
}
