package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

func TestFailedStreamIsAProviderError(t *testing.T) {
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
		{"an unknown type of error", events(`{"type":"error","error":{"type":"new_error","message":"oops"}}`), 0, 502, 500},
		{"a plain error", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, 0, 429, 429},
		{"a page", "<html><body>502</body></html>", 0, 502, 0},
		{"nothing", "", 0, 502, 0},
		{"only pings", events(ping, ping), 0, 502, 0},
		{"broken JSON first", "data: {\"type\":\n\n", 0, 502, 0},
		{"no start", events(text0, piece(0, words("a"))), 0, 502, 0},
		{"an end without a start", events(end), 0, 502, 0},
		{"broken JSON in the middle", events(start) + "data: {\"type\":\n\n" + events(end), 1, 502, 0},
		{"wrong types in the middle", events(start, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}`,
			end), 1, 502, 0},
		{"wrong types at the end", events(start, `{"type":"message_delta","delta":[]}`, end), 1, 502, 0},
		{"broken off", events(start, text0, piece(0, words("a"))), 2, 502, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shown, err := play(t, tt.body, "")
			if err == nil {
				t.Fatalf("no error after %v", shown)
			}
			e := api.AsError(err)
			if e.Status != tt.status || e.UpstreamStatus != tt.upstream || e.Code != api.CodeProviderError || len(shown) != tt.before {
				t.Errorf("%d of %d after %d chunks, want %d of %d after %d: %v", e.Status, e.UpstreamStatus, len(shown), tt.status,
					tt.upstream, tt.before, err)
			}
		})
	}
}

// TestJoinedReasoningFragmentsAreTheWholeBlocks joins fragments as clients do
// that do not know them: all strings but type, and not index.
func TestJoinedReasoningFragmentsAreTheWholeBlocks(t *testing.T) {
	s := newStream([]byte(events(start,
		began(0, `{"type":"thinking","thinking":"a","signature":""}`), piece(0, thought("b")), piece(0, thought("c")), piece(0,
			`{"type":"signature_delta","signature":"one"}`), over(0),
		began(1, `{"type":"redacted_thinking","data":"red"}`), over(1),
		began(2, `{"type":"thinking","thinking":"","signature":"two"}`), over(2), stopped("end_turn"), end)))
	if err := s.readStart(); err != nil {
		t.Fatal(err)
	}
	var got [3]chat.ReasoningDetail
	for c, err := range providertest.Chunks(streamRequest(t, ""), s.run) {
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
	}
	if want := [3]chat.ReasoningDetail{
		{Type: chat.ReasoningText, Text: "abc", Signature: "one", Format: llm.FormatAnthropic},
		{Type: chat.ReasoningEncrypted, Data: "red", Format: llm.FormatAnthropic, Index: 1},
		{Type: chat.ReasoningText, Signature: "two", Format: llm.FormatAnthropic, Index: 2},
	}; got != want {
		t.Errorf("%+v", got)
	}
}

// everything is a stream with thinking, text and a tool call.
var everything = events(start, ping,
	began(0, `{"type":"thinking","thinking":"","signature":""}`), piece(0, thought("hm")), piece(0,
		`{"type":"signature_delta","signature":"c2ln"}`), over(0),
	began(1, `{"type":"text","text":""}`), piece(1, words("Grüße 🎉")), over(1),
	began(2, toolBlock), piece(2, arguments(`{"a":"`)), piece(2, arguments(`b"}`)), over(2), stopped("tool_use"), end)

func TestTruncatedStreamIsAnError(t *testing.T) {
	reason := strings.Index(everything, `"stop_reason":"tool_use"`)
	whole := reason + strings.Index(everything[reason:], "}}") + len("}}")
	req := streamRequest(t, "")
	for at := range len(everything) {
		s := newStream([]byte(everything[:at]))
		err := s.readStart()
		finished := false
		if err == nil {
			_, err = providertest.Collect(func(yield func(*chat.Chunk, error) bool) {
				for c, err := range providertest.Chunks(req, s.run) {
					finished = finished || err == nil && c != nil && len(c.Choices) > 0 && c.Choices[0].FinishReason != nil
					if !yield(c, err) {
						return
					}
				}
			})
		}
		if at < whole && (err == nil || finished) {
			t.Fatalf("cut at byte %d it passes as whole: %q", at, everything[:at][max(0, at-60):])
		}
		if err != nil && api.AsError(err).Status != http.StatusBadGateway {
			t.Fatalf("cut at byte %d: %v", at, err)
		}
	}
}

// slow reads one byte at a time.
type slow struct{ io.Reader }

func (s slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }

func TestStreamIsReadTheSameInAnyPieces(t *testing.T) {
	req := streamRequest(t, "")
	collect := func(s *stream) *chat.Completion {
		if err := s.readStart(); err != nil {
			t.Fatal(err)
		}
		c, err := providertest.Collect(providertest.Chunks(req, s.run))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := collect(newStream([]byte(everything)))
	if m := want.Choices[0].Message; *m.Content != "Grüße 🎉" || m.ReasoningContent != "hm" ||
		m.ToolCalls[0].Function.Arguments != `{"a":"b"}` {
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
func plain(c *chat.Completion) []any {
	m := c.Choices[0].Message
	return []any{*m.Content, m.ReasoningContent, m.ReasoningDetails, m.ToolCalls[0].ID, *m.ToolCalls[0].Function,
		c.Choices[0].FinishReason, c.Usage.TotalTokens}
}

func TestLeavingAStreamEndsTheUpstreamCall(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start, text0, piece(0, words("a"))))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	x, err := provider(server.URL).Prepare(providers.Call{Request: streamRequest(t, ""), Model: model(t, budgetNew)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	for range stream {
		break
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the upstream call goes on")
	}
}

func TestStreamFailsWithTheErrorOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	x, err := provider(server.URL).Prepare(providers.Call{Request: streamRequest(t, ""), Model: model(t, budgetNew)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(ctx, testKey)
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

func TestAnotherMessageInsideAnAnswer(t *testing.T) {
	other := strings.ReplaceAll(start, "msg_1", "msg_0")
	other = strings.Replace(other, `"input_tokens":43`, `"input_tokens":40,"cache_read_input_tokens":2`, 1)
	first := strings.Replace(start, `"input_tokens":43`, `"input_tokens":43,"cache_creation_input_tokens":9`, 1)
	got, err := play(t, events(first, ping, text0, began(1, `{"type":"thinking","thinking":"","signature":"s"}`), other,
		text0, piece(0, words("a")), over(0), stopped("end_turn"), end), "")
	want := []string{"assistant", "text a", "finish stop", "usage 42+62=104 cached 2 written 0"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("before anything has been shown: %q, %v", got, err)
	}
	got, err = play(t, events(start, text0, piece(0, words("a")), start, piece(0, words("b")), over(0), stopped("end_turn"), end), "")
	if want := []string{"assistant", "text a", "text b", "finish stop", done}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the same one again: %q, %v", got, err)
	}
	got, err = play(t, events(start, text0, piece(0, words("a")), other, text0, piece(0, words("b")), over(0), stopped("end_turn"), end), "")
	e, ok := errors.AsType[*providers.Refusal](err)
	if want := []string{"assistant", "text a"}; !ok || e.ClientError().Status != 502 || !slices.Equal(got, want) {
		t.Errorf("inside the answer: %q, %v", got, err)
	}
}
