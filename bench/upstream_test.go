package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// started is a bench with an upstream and a floor in front of it.
func started(t *testing.T) *bench {
	t.Helper()
	up := httptest.NewServer(newUpstream().handler())
	t.Cleanup(up.Close)
	front := httptest.NewServer(floor(up.URL))
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	client := newTransport()
	t.Cleanup(client.CloseIdleConnections)
	return &bench{
		ctx: ctx, client: client, upstream: &process{addr: up.Listener.Addr().String()},
		targets: []target{{name: floorName, base: front.URL}},
	}
}

func TestFloorForwardsAnswersAndStreamsCompletely(t *testing.T) {
	b := started(t)
	for _, s := range scenarios() {
		if s.base != "" || s.job.api != chatCompletions {
			continue
		}
		c := newCaller(b.client, b.targets[0], s.job)
		begun := time.Now()
		if err := c.call(b.ctx, newChecker(readBuffer), nil); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if took := time.Since(begun); s.conns == pacedConns && took < (contentChunks-1)*paceBetween {
			t.Errorf("%s took only %v", s.name, took)
		}
	}
}

func TestAnswersOfOtherAPIsAreVerifiedToTheirEnd(t *testing.T) {
	b := started(t)
	wires := map[clientAPI]*wire{messagesAPI: anthropicWire(), responsesAPI: responsesWire()}
	for _, s := range append(messagesScenarios(), responsesScenarios()...) {
		own := wires[s.job.api]
		if own == nil || s.base != "" {
			continue
		}
		c := newCaller(b.client, target{base: "http://" + b.upstream.addr}, s.job)
		if err := c.call(b.ctx, newChecker(readBuffer), nil); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		whole := own.answer
		if s.job.stream {
			whole = bytes.Join(slices.Concat(own.before, own.chunks, [][]byte{own.finish}, own.after), nil)
		}
		for name, wrong := range map[string][]byte{
			"another text": bytes.ReplaceAll(whole, []byte("coffee"), []byte("tea")),
			"no ending":    bytes.ReplaceAll(bytes.ReplaceAll(whole, []byte("end_turn"), []byte("max_tokens")), []byte("completed"), []byte("incomplete")),
			"no usage":     bytes.ReplaceAll(whole, []byte("output_tokens"), []byte("tokens")),
			"cut off":      whole[:len(whole)-40],
		} {
			if s.job.stream && name == "another text" {
				wrong = bytes.ReplaceAll(whole, []byte("breath"), []byte("pause"))
			}
			if err := newCaller(always(wrong), target{}, s.job).call(b.ctx, newChecker(readBuffer), nil); err == nil {
				t.Errorf("%s: %s was not seen", s.name, name)
			}
		}
	}
}

func TestAnthropicAndGeminiStreamsCarryTheText(t *testing.T) {
	b := started(t)
	for path, text := range map[string]func([]byte) string{
		"/v1/messages": func(data []byte) string {
			var e struct{ Delta struct{ Text string } }
			_ = json.Unmarshal(data, &e) // events without a text add none
			return e.Delta.Text
		},
		"/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse": func(data []byte) string {
			var e struct {
				Candidates []struct {
					Content struct{ Parts []struct{ Text string } }
				}
			}
			if err := json.Unmarshal(data, &e); err != nil || len(e.Candidates) != 1 {
				return "?"
			}
			return e.Candidates[0].Content.Parts[0].Text
		},
	} {
		resp, err := http.Post("http://"+b.upstream.addr+path, "application/json", strings.NewReader(`{"stream": true}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				said.WriteString(text([]byte(data)))
			}
		}
		if said.String() != streamText {
			t.Errorf("%s: %q", path, said.String())
		}
	}
}

func TestAnswersAreJSON(t *testing.T) {
	for _, w := range []*wire{openAIWire(), responsesWire(), anthropicWire(), geminiWire()} {
		if !json.Valid(w.answer) || len(w.chunks) != contentChunks {
			t.Errorf("%d chunks, %s", len(w.chunks), w.answer)
		}
	}
}

func TestHeldStreamsPauseUntilTheirRelease(t *testing.T) {
	b := started(t)
	var bad faults
	held, err := b.hold(b.targets[0], 20, &bad)
	if err != nil {
		t.Fatal(err)
	}
	await(t, b, func(c counts) bool { return c.Held == 20 && c.Open == 20 })
	if err := held.release(); err != nil || bad.total() > 0 {
		t.Errorf("%v, %q", err, bad.messages)
	}
	await(t, b, func(c counts) bool { return c.Held == 0 && c.Open == 0 && c.Requests == 20 && c.Cancelled == 0 })
}

func TestUpstreamNoticesThatAClientDisconnects(t *testing.T) {
	b := started(t)
	if ms, err := b.leave(b.targets[0]); err != nil || ms < 0 {
		t.Errorf("%v ms, %v", ms, err)
	}
	await(t, b, func(c counts) bool { return c.Cancelled == 1 && c.Held == 0 })
}

func TestFloorCutsAnswersThatItsUpstreamCut(t *testing.T) {
	events := streamOf(openAIWire())
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(joined(events[:20])))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	if err := callOnce(t, floor(up.URL), true); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// await polls the upstream until its counts are as expected.
func await(t *testing.T, b *bench, wanted func(counts) bool) {
	t.Helper()
	var seen counts
	for b.ctx.Err() == nil {
		var err error
		if seen, err = b.upstreamCounts(); err != nil {
			t.Fatal(err)
		}
		if wanted(seen) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%+v", seen)
}
