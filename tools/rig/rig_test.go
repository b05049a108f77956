package rig

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/providers/bedrock/frames"
)

// events is a stream as the upstream sends it.
func (w *wire) events() [][]byte {
	all := append([][]byte{}, w.before...)
	all = append(append(all, w.chunks...), w.finish, w.usage)
	return append(all, w.after...)
}

func joined(events [][]byte) string { return string(bytes.Join(events, nil)) }

func checkStream(text string) error { return newChecker().stream(strings.NewReader(text), nil) }

func TestScriptedTextsHaveEscapesAndMultibyteCharacters(t *testing.T) {
	t.Parallel()
	words := streamWords()
	if len(words) != ContentChunks || strings.Join(words, "") != streamText {
		t.Fatalf("%d words", len(words))
	}
	for _, text := range []string{answerText, streamText} {
		for _, hard := range []string{"\"", "\n", "é", "🎉"} {
			if !strings.Contains(text, hard) {
				t.Errorf("no %q in %.30q…", hard, text)
			}
		}
	}
}

func TestCheckerAcceptsCompleteAnswers(t *testing.T) {
	t.Parallel()
	check := newChecker()
	for range 2 { // the second time from the checker's cache
		for _, w := range []*wire{openAIWire(), anthropicWire(), responsesWire()} {
			if err := check.answer(w.answer); err != nil {
				t.Error(err)
			}
			chunks := 0
			err := check.stream(strings.NewReader(joined(w.events())), func() { chunks++ })
			if err != nil || chunks != ContentChunks {
				t.Errorf("%d chunks: %v", chunks, err)
			}
		}
	}
	if err := check.answer(embeddingsWire().answer); err != nil {
		t.Error(err)
	}
	spaced := strings.ReplaceAll(joined(openAIWire().events()), "\n\n", "\r\n\r\n: a comment\r\n\r\n")
	if err := checkStream(spaced); err != nil {
		t.Error("other line ends and comments:", err)
	}
}

func TestFramesOfBedrockAreTheSameStream(t *testing.T) {
	t.Parallel()
	sse, err := io.ReadAll(frames.Framing().ToSSE(strings.NewReader(joined(bedrockWire().events()))))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkStream(string(sse)); err != nil {
		t.Error(err)
	}
}

func TestCheckerRefusesEveryKindOfLoss(t *testing.T) {
	t.Parallel()
	for _, w := range []*wire{openAIWire(), anthropicWire(), responsesWire()} {
		whole := w.events()
		text := joined(whole)
		first, last := len(w.before), len(w.before)+len(w.chunks)-1
		without := func(i int) string { return joined(whole[:i]) + joined(whole[i+1:]) }
		swapped := append([][]byte{}, whole...)
		swapped[first+6], swapped[first+7] = swapped[first+7], swapped[first+6]
		for name, broken := range map[string]string{
			"nothing":            "",
			"no role":            joined(whole[first:]),
			"no end":             joined(whole[:len(whole)-1]),
			"first chunk lost":   without(first),
			"chunk lost":         without(first + 29),
			"last chunk lost":    without(last),
			"chunk twice":        joined(whole[:first+9]) + joined(whole[first+8:]),
			"chunks swapped":     joined(swapped),
			"wrong word":         strings.Replace(text, "machines", "machinez", 1),
			"cut within a chunk": text[:len(text)/2],
			"error event":        joined(whole[:20]) + `data: {"type":"error","error":{"message":"broken"}}` + "\n\n" + joined(whole[20:]),
			"not JSON":           joined(whole[:20]) + "data: {\n\n" + joined(whole[20:]),
			"no data line":       joined(whole[:20]) + "502 Bad Gateway\n" + joined(whole[20:]),
			"data behind an end": text + string(whole[first+5]),
			"no usage":           strings.NewReplacer(`"total_tokens"`, `"a"`, `"output_tokens"`, `"b"`).Replace(text),
			"another reason": strings.NewReplacer(`"finish_reason":"stop"`, `"finish_reason":"length"`, "end_turn", "max_tokens",
				`"status":"completed","background"`, `"status":"incomplete","background"`).Replace(text),
		} {
			if err := checkStream(broken); err == nil {
				t.Errorf("%s, %s: counted as whole", w.contentType, name)
			}
		}
		answer := string(w.answer)
		for name, broken := range map[string]string{
			"nothing":       "",
			"cut off":       answer[:len(answer)/2],
			"wrong word":    strings.Replace(answer, "waiter", "waitress", 1),
			"not finished":  strings.NewReplacer(`"finish_reason":"stop"`, `"finish_reason":null`, "end_turn", "max_tokens", "completed", "failed").Replace(answer),
			"no usage":      strings.Replace(answer, `"usage":`, `"other":`, 1),
			"error":         `{"error":{"message":"broken"}}`,
			"no choice":     `{"choices":[],"usage":{"total_tokens":1}}`,
			"trailing text": answer + "x",
		} {
			if err := newChecker().answer([]byte(broken)); err == nil {
				t.Errorf("answer, %s: counted as whole", name)
			}
		}
	}
}

// callOnce calls a handler once, for an answer or a stream.
func callOnce(t *testing.T, handler http.HandlerFunc, stream bool) error {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	c := NewCaller(http.DefaultTransport, Job{Model: OpenAIModel, Prompt: Prompt(200), Stream: stream})
	return c.Call(t.Context(), server.Listener.Addr().String(), "", nil)
}

func TestAWholeBodyWithAnErrorStatusAndACutStreamAreFailures(t *testing.T) {
	t.Parallel()
	w := openAIWire()
	for _, status := range []int{http.StatusCreated, http.StatusTooManyRequests, http.StatusInternalServerError} {
		err := callOnce(t, func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = out.Write(w.answer)
		}, false)
		var refused *Refusal
		if !errors.As(err, &refused) || refused.Status != status {
			t.Errorf("status %d: %v", status, err)
		}
	}
	err := callOnce(t, func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, joined(w.events()[:40]))
		_ = http.NewResponseController(out).Flush()
		panic(http.ErrAbortHandler)
	}, true)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut stream: %v", err)
	}
}

// Every second call fails; only the others are counted.
func TestALoadCountsNoFailure(t *testing.T) {
	t.Parallel()
	bad := new(Faults)
	result, err := Load{
		Callers: 1, Window: 50 * time.Millisecond, Faults: bad, Most: 1 << 30,
		Call: func(ctx context.Context, n int64) error {
			if n%2 == 0 {
				return errors.New("odd")
			}
			return Sleep(ctx, time.Microsecond)
		},
	}.Run(t.Context())
	if total := int64(bad.Total()); err != nil || result.Calls == 0 || total < result.Calls || total > result.Calls+10 {
		t.Errorf("%d counted, %d failed: %v", result.Calls, total, err)
	}
	if !strings.Contains(bad.String(), "odd") || strings.Count(bad.String(), "odd") > 5 {
		t.Error(bad)
	}
	bad = new(Faults)
	result, err = Load{
		Callers: 4, Window: 10 * time.Millisecond, Faults: bad, Most: 10, Call: func(context.Context, int64) error { return errors.New("all") },
	}.Run(t.Context())
	if err == nil || result.Calls != 0 || bad.Total() < 11 || bad.Total() > 15 {
		t.Errorf("%d counted, %d failed: %v", result.Calls, bad.Total(), err)
	}
}

// The target pauses once, for the time of two hundred calls. A load that waits for it would
// report one slow call.
func TestALoadAtARateChargesAStallToAllDelayedCalls(t *testing.T) {
	t.Parallel()
	const perSecond, window, stall = 500, time.Second, 400 * time.Millisecond
	var one sync.Mutex // calls are served one after the other
	bad := new(Faults)
	result, err := Load{
		Callers: 64, Rate: perSecond, Window: window, Faults: bad,
		Call: func(_ context.Context, n int64) error {
			one.Lock()
			defer one.Unlock()
			if n == 100 {
				time.Sleep(stall)
			}
			return nil
		},
	}.Run(t.Context())
	if err != nil || bad.Total() > 0 || len(result.Latencies) < perSecond*9/10 {
		t.Fatalf("%d calls, %v, %v", len(result.Latencies), bad, err)
	}
	slow := 0
	for _, d := range result.Latencies {
		if d > stall/4 {
			slow++
		}
	}
	// 3/4 of the calls that were due during the pause waited this long.
	if want := int(stall.Seconds()*perSecond) * 3 / 4; slow < want*9/10 {
		t.Errorf("%d slow calls, at least %d have waited", slow, want)
	}
	if worst := result.Quantile(1); worst < Milliseconds(stall) {
		t.Errorf("the worst was %v ms", worst)
	}
}

func TestQuantilesAreValuesThatOccurred(t *testing.T) {
	t.Parallel()
	var r Result
	if r.Quantile(0.5) >= 0 || r.Rate() >= 0 {
		t.Error("nothing has a quantile or a rate")
	}
	for i := range 100 {
		r.Latencies = append(r.Latencies, time.Duration(i+1)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 1, 0.005: 1, 0.5: 50, 0.505: 51, 0.99: 99, 0.991: 100, 1: 100} {
		if got := r.Quantile(q); got != want {
			t.Errorf("%v of 1…100 is %v, not %v", q, got, want)
		}
	}
}

func TestASectionReplacesOnlyItsPart(t *testing.T) {
	t.Parallel()
	s := NewSection("calls", "PostgreSQL 1")
	s.Table("", "a", "b").Row(1, 12345.6)
	s.Say("%d words.", 2)
	page, err := replace([]byte("before\n<!-- calls -->\nold\n<!-- /calls -->\nafter\n"), "calls", s.Markdown())
	if err != nil || !strings.HasPrefix(string(page), "before\n<!-- calls -->\n| a | b |\n|---|---|\n| 1 | 12,345 |\n\n2 words.\n\n*") ||
		!strings.HasSuffix(string(page), "PostgreSQL 1; it took 0s.*\n<!-- /calls -->\nafter\n") {
		t.Errorf("%v\n%s", err, page)
	}
	if _, err := replace([]byte("nothing"), "calls", nil); err == nil {
		t.Error("a page without marks is refused")
	}
	for v, want := range map[float64]string{-1: "–", 0: "0", 0.0123: "0.012", 1.234: "1.23", 12.34: "12.3", 1234: "1234", 1234567: "1,234,567"} {
		if got := Figure(v); got != want {
			t.Errorf("%v is %s", v, got)
		}
	}
}

func TestHeldStreamsPauseUntilTheirRelease(t *testing.T) {
	t.Parallel()
	u := newUpstream()
	up := httptest.NewServer(u.handler())
	t.Cleanup(up.Close)
	p := &Process{Addr: up.Listener.Addr().String()}
	c := NewCaller(NewTransport(), Job{Model: OpenAIModel, Prompt: Prompt(200, WordHold), Stream: true})
	await := func(open, held, cancelled int64) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); u.open.Load() != open || u.held.Load() != held || u.cancelled.Load() != cancelled; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d open, %d held, %d cancelled", u.open.Load(), u.held.Load(), u.cancelled.Load())
			}
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for _, ctx := range []context.Context{ctx, t.Context(), t.Context()} {
		go func() { ended <- c.Call(ctx, p.Addr, "", nil) }()
	}
	await(3, 3, 0)
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(2, 2, 1)
	if err := p.ReleaseStreams(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	await(0, 0, 1)
}
