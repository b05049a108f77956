package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/providers/chunk"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

func TestStreamsThatFail(t *testing.T) {
	const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for _, tt := range []struct {
		name, body string
		before     int // chunks
		status     int
		upstream   int
	}{
		{"an error first", events(overloaded), 0, 502, 529},
		{"an error after a ping", events(ping, overloaded), 0, 502, 529},
		{"an error after the start", events(start, overloaded), 1, 502, 529},
		{"an error in the middle", events(start, text0, piece(0, words("a")), overloaded, end), 2, 502, 529},
		{"an error after the reason", events(start, stopped("end_turn"), overloaded), 1, 502, 529},
		{"rate limit", events(`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), 0, 429, 429},
		{"a fault of the request", events(`{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`), 0, 400, 400},
		{"too large", events(`{"type":"error","error":{"type":"request_too_large","message":"big"}}`), 0, 413, 413},
		{"not found", events(`{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`), 0, 404, 404},
		{"the gateway's key", events(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`), 0, 502, 401},
		{"the gateway's bill", events(`{"type":"error","error":{"type":"billing_error","message":"pay"}}`), 0, 502, 402},
		{"the gateway's rights", events(`{"type":"error","error":{"type":"permission_error","message":"no"}}`), 0, 502, 403},
		{"a time-out", events(`{"type":"error","error":{"type":"timeout_error","message":"late"}}`), 0, 504, 504},
		{"a fault of theirs", events(`{"type":"error","error":{"type":"api_error","message":"oops"}}`), 0, 502, 500},
		{"an unheard-of error", events(`{"type":"error","error":{"type":"new_error","message":"oops"}}`), 0, 502, 500},
		{"a plain error", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, 0, 429, 429},
		{"a page", "<html><body>502</body></html>", 0, 502, 0},
		{"nothing", "", 0, 502, 0},
		{"only pings", events(ping, ping), 0, 502, 0},
		{"broken JSON first", "data: {\"type\":\n\n", 0, 502, 0},
		{"no start", events(text0, piece(0, words("a"))), 0, 502, 0},
		{"an end without a start", events(end), 0, 502, 0},
		{"broken JSON in the middle", events(start) + "data: {\"type\":\n\n" + events(end), 1, 502, 0},
		{"wrong types in the middle", events(start, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}`, end), 1, 502, 0},
		{"wrong types at the end", events(start, `{"type":"message_delta","delta":[]}`, end), 1, 502, 0},
		{"broken off", events(start, text0, piece(0, words("a"))), 2, 502, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shown, err := play(t, answering(t, tt.body, ""))
			e, ok := errors.AsType[*api.Error](err)
			if !ok {
				t.Fatalf("%v, %v", shown, err)
			}
			if e.Status != tt.status || e.UpstreamStatus != tt.upstream || e.Code != api.CodeProviderError || len(shown) != tt.before {
				t.Errorf("%d of %d after %d chunks, want %d of %d after %d: %v", e.Status, e.UpstreamStatus, len(shown), tt.status, tt.upstream, tt.before, err)
			}
		})
	}
}

// TestReasoningDetailsAddUp puts fragments together as clients do that know
// nothing of them: strings are joined, but for type and index.
func TestReasoningDetailsAddUp(t *testing.T) {
	s := newStream([]byte(events(start,
		began(0, `{"type":"thinking","thinking":"a","signature":""}`), piece(0, thought("b")), piece(0, thought("c")), piece(0, `{"type":"signature_delta","signature":"one"}`), over(0),
		began(1, `{"type":"redacted_thinking","data":"red"}`), over(1),
		began(2, `{"type":"thinking","thinking":"","signature":"two"}`), over(2), stopped("end_turn"), end)))
	if err := s.first(); err != nil {
		t.Fatal(err)
	}
	var got [3]api.ReasoningDetail
	s.run(func(c *api.ChatChunk, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range c.Choices {
			for _, d := range choice.Delta.ReasoningDetails {
				have := &got[d.Index]
				have.Type, have.Index = d.Type, d.Index
				have.Text += d.Text
				have.Signature += d.Signature
				have.Data += d.Data
				have.Format += d.Format
			}
		}
		return true
	})
	if want := [3]api.ReasoningDetail{
		{Type: api.ReasoningText, Text: "abc", Signature: "one", Format: api.FormatAnthropic},
		{Type: api.ReasoningEncrypted, Data: "red", Format: api.FormatAnthropic, Index: 1},
		{Type: api.ReasoningText, Signature: "two", Format: api.FormatAnthropic, Index: 2},
	}; got != want {
		t.Errorf("%+v", got)
	}
}

// everything is a stream with all that matters in it.
var everything = events(start, ping,
	began(0, `{"type":"thinking","thinking":"","signature":""}`), piece(0, thought("hm")), piece(0, `{"type":"signature_delta","signature":"c2ln"}`), over(0),
	began(1, `{"type":"text","text":""}`), piece(1, words("Grüße 🎉")), over(1),
	began(2, toolBlock), piece(2, arguments(`{"a":"`)), piece(2, arguments(`b"}`)), over(2), stopped("tool_use"), end)

func TestAStreamCutShortIsNeverWhole(t *testing.T) {
	reason := strings.Index(everything, `"stop_reason":"tool_use"`)
	whole := reason + strings.Index(everything[reason:], "}}") + len("}}")
	for at := range len(everything) {
		s := newStream([]byte(everything[:at]))
		err := s.first()
		finished := false
		if err == nil {
			_, err = chunk.Collect(func(yield func(*api.ChatChunk, error) bool) {
				s.run(func(c *api.ChatChunk, err error) bool {
					finished = finished || err == nil && len(c.Choices) > 0 && c.Choices[0].FinishReason != nil
					return yield(c, err)
				})
			})
		}
		if at < whole && (err == nil || finished) {
			t.Fatalf("cut at byte %d it passes as whole: %q", at, everything[:at][max(0, at-60):])
		}
		if e, ok := errors.AsType[*api.Error](err); err != nil && (!ok || e.Status != http.StatusBadGateway) {
			t.Fatalf("cut at byte %d: %v", at, err)
		}
	}
}

// slow gives one byte at a time.
type slow struct{ io.Reader }

func (s slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }

func TestHowTheBytesArriveDoesNotMatter(t *testing.T) {
	collect := func(s *stream) *api.ChatCompletion {
		if err := s.first(); err != nil {
			t.Fatal(err)
		}
		c, err := chunk.Collect(s.run)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := collect(newStream([]byte(everything)))
	if m := want.Choices[0].Message; *m.Content != "Grüße 🎉" || m.ReasoningContent != "hm" || m.ToolCalls[0].Function.Arguments != `{"a":"b"}` {
		t.Fatalf("%+v", m)
	}
	for name, body := range map[string]io.Reader{
		"bytes":              slow{strings.NewReader(everything)},
		"CRLF":               slow{strings.NewReader(strings.ReplaceAll(everything, "\n", "\r\n"))},
		"CR":                 strings.NewReader(strings.ReplaceAll(everything, "\n", "\r")),
		"comments":           strings.NewReader(strings.ReplaceAll(everything, "event:", ": hello\nevent:")),
		"no names":           strings.NewReader(strings.ReplaceAll(everything, "event:", "x:")),
		"no space":           strings.NewReader(strings.ReplaceAll(everything, "data: ", "data:")),
		"byte order mark":    strings.NewReader("\xef\xbb\xbf" + everything),
		"no final empty":     strings.NewReader(strings.TrimRight(everything, "\n")),
		"events in pieces":   strings.NewReader(strings.ReplaceAll(everything, `,"index"`, ",\ndata: \"index\"")),
		"the names all lied": strings.NewReader(strings.ReplaceAll(everything, "event: ", "event: x_")),
	} {
		s := newStream(nil)
		s.events = eventsOf(body)
		if got := collect(s); fmt.Sprintf("%+v", plain(got)) != fmt.Sprintf("%+v", plain(want)) {
			t.Errorf("%s: got %+v, want %+v", name, plain(got), plain(want))
		}
	}
}

// plain is an answer without its pointers.
func plain(c *api.ChatCompletion) []any {
	m := c.Choices[0].Message
	return []any{*m.Content, m.ReasoningContent, m.ReasoningDetails, m.ToolCalls[0].ID, *m.ToolCalls[0].Function, c.Choices[0].FinishReason, c.Usage.TotalTokens}
}

func TestLeavingAStreamEndsTheUpstream(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start, text0, piece(0, words("a"))))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	x, err := provider(server.URL).Prepare(providers.Call{Request: chatRequest(t, `{"model":"m",`+talk(user("q"))+`}`), Model: model(t, budgetNew)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Stream(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	for range stream {
		break
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the upstream works on")
	}
}

func TestAnEndedContextIsTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	x, err := provider(server.URL).Prepare(providers.Call{Request: chatRequest(t, `{"model":"m",`+talk(user("q"))+`}`), Model: model(t, budgetNew)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Stream(ctx, testKey)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range stream {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("%v", last)
	}
}

func eventsOf(body io.Reader) *upstream.Events { return &upstream.Events{Reader: sse.NewReader(body)} }
