package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// streamOf is the OpenAI stream as the upstream sends it.
func streamOf(w *wire) [][]byte {
	events := append([][]byte{}, w.before...)
	events = append(events, w.chunks...)
	events = append(events, w.finish, w.usage)
	return append(events, w.after...)
}

func joined(events [][]byte) string { return string(bytes.Join(events, nil)) }

func TestScriptedTextsHaveEscapesAndMultibyteCharacters(t *testing.T) {
	words := streamWords()
	if len(words) != contentChunks || strings.Join(words, "") != streamText {
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
	w := openAIWire()
	check := newChecker(readBuffer)
	for range 2 { // the second time from the checker's cache
		if err := check.answer(w.answer); err != nil {
			t.Error(err)
		}
		chunks := 0
		if err := check.stream(strings.NewReader(joined(streamOf(w))), func() { chunks++ }); err != nil || chunks != contentChunks {
			t.Errorf("%d chunks: %v", chunks, err)
		}
	}
	spaced := strings.ReplaceAll(joined(streamOf(w)), "\n\n", "\r\n\r\n: a comment\r\n\r\n")
	if err := check.stream(strings.NewReader(spaced), nil); err != nil {
		t.Error("other line ends and comments:", err)
	}
	if err := newChecker(16).stream(strings.NewReader(joined(streamOf(w))), nil); err != nil {
		t.Error("lines longer than the buffer:", err)
	}
}

func TestCheckerRefusesEveryKindOfLoss(t *testing.T) {
	w := openAIWire()
	whole := streamOf(w)
	without := func(i int) string {
		return joined(whole[:i]) + joined(whole[i+1:])
	}
	finish, usage, done := len(whole)-3, len(whole)-2, len(whole)-1
	swapped := append([][]byte{}, whole...)
	swapped[7], swapped[8] = swapped[8], swapped[7]
	broken := map[string]string{
		"nothing":             "",
		"no role":             without(0),
		"no finish":           without(finish),
		"no usage":            without(usage),
		"no DONE":             without(done),
		"first chunk lost":    without(1),
		"chunk lost":          without(30),
		"last chunk lost":     without(finish - 1),
		"chunk twice":         joined(whole[:9]) + joined(whole[8:]),
		"chunks swapped":      joined(swapped),
		"wrong word":          strings.Replace(joined(whole), "machines", "machinez", 1),
		"cut within a chunk":  joined(whole)[:len(joined(whole))/2],
		"error event":         joined(whole[:20]) + `data: {"error":{"message":"broken"}}` + "\n\n" + joined(whole[20:]),
		"not JSON":            joined(whole[:20]) + "data: {\n\n" + joined(whole[20:]),
		"no data line":        joined(whole[:20]) + "502 Bad Gateway\n" + joined(whole[20:]),
		"text behind finish":  joined(whole[:finish-1]) + string(whole[finish]) + string(whole[finish-1]) + joined(whole[usage:]),
		"data behind DONE":    joined(whole) + string(whole[5]),
		"other finish reason": strings.Replace(joined(whole), `"finish_reason":"stop"`, `"finish_reason":"length"`, 1),
	}
	for name, text := range broken {
		if err := newChecker(readBuffer).stream(strings.NewReader(text), nil); err == nil {
			t.Errorf("%s: counted as whole", name)
		}
	}
	for name, text := range map[string]string{
		"nothing":       "",
		"cut off":       string(w.answer[:len(w.answer)/2]),
		"wrong word":    strings.Replace(string(w.answer), "waiter", "waitress", 1),
		"not finished":  strings.Replace(string(w.answer), `"finish_reason":"stop"`, `"finish_reason":null`, 1),
		"no usage":      strings.Replace(string(w.answer), `"usage":`, `"other":`, 1),
		"error":         `{"error":{"message":"broken"}}`,
		"no choice":     `{"choices":[],"usage":{"total_tokens":1}}`,
		"trailing text": string(w.answer) + "x",
	} {
		if err := newChecker(readBuffer).answer([]byte(text)); err == nil {
			t.Errorf("answer, %s: counted as whole", name)
		}
	}
}

// callOnce calls a server once, for an answer or a stream.
func callOnce(t *testing.T, handler http.Handler, stream bool) error {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	c := newCaller(transport, target{base: server.URL}, job{model: openAIModel, prompt: prompt(200), stream: stream})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return c.call(ctx, newChecker(readBuffer), nil)
}

func TestWholeBodyUnderAnErrorStatusIsAFailure(t *testing.T) {
	w := openAIWire()
	for _, status := range []int{http.StatusCreated, http.StatusTooManyRequests, http.StatusInternalServerError} {
		err := callOnce(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = out.Write(w.answer)
		}), false)
		if err == nil {
			t.Errorf("status %d was a success", status)
		}
	}
}

func TestConnectionCutInTheMiddleIsAFailure(t *testing.T) {
	w := openAIWire()
	events := streamOf(w)
	err := callOnce(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write([]byte(joined(events[:40])))
		out.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}), true)
	if err == nil {
		t.Error("a cut stream was a success")
	}
}

// Every second call fails; only the others are counted.
func TestClosedLoopNeverCountsAFailure(t *testing.T) {
	w := openAIWire()
	var good, bad faults // good only counts
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		good.add(context.Canceled)
		if good.total()%2 == 0 {
			out.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = out.Write(w.answer)
	}))
	defer server.Close()
	target := target{base: server.URL}
	c := newCaller(newTransport(), target, job{model: openAIModel})
	f, err := closedLoop(t.Context(), c, target, loopOptions{conns: 1, window: 100 * time.Millisecond}, &bad)
	served := int64(good.total())
	if err != nil || f.Requests > (served+1)/2 || bad.total() == 0 || int64(bad.total()) < served/2 {
		t.Errorf("%d counted, %d failed of %d served: %v", f.Requests, bad.total(), served, err)
	}
	if len(bad.messages) > 5 || !strings.Contains(bad.messages[0], "502") {
		t.Errorf("messages: %q", bad.messages)
	}
}

func TestClosedLoopEndsWhenEverythingFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var bad faults
	target := target{base: server.URL}
	c := newCaller(newTransport(), target, job{model: openAIModel})
	f, err := closedLoop(t.Context(), c, target, loopOptions{conns: 4, window: 200 * time.Millisecond}, &bad)
	if err == nil || f.Requests != 0 || bad.total() < tooManyFaults || bad.total() > tooManyFaults+4 {
		t.Errorf("%d counted, %d failed: %v", f.Requests, bad.total(), err)
	}
}

func TestRequestHasThePromptAndTheModel(t *testing.T) {
	for _, size := range []int{200, 32 << 10} {
		text := prompt(size, wordHold)
		if len(text) > size || len(text) < size-3 || !strings.HasPrefix(text, wordHold+" ") {
			t.Errorf("%d bytes: %.20q", len(text), text)
		}
	}
	body := job{model: "m", prompt: "say \"é\"\n", stream: true}.body()
	if !wantsStream(body) || !bytes.Contains(body, []byte(`"content":"say \"é\"\n"`)) {
		t.Errorf("%s", body)
	}
	for body, want := range map[string]bool{
		`{"stream":true}`: true, `{"stream" : true}`: true, `{"stream":false}`: false, `{}`: false,
		`{"a":"\"stream\":true"}`: false, `{"x":"stream","stream":` + "\n" + `true}`: true,
	} {
		if wantsStream([]byte(body)) != want {
			t.Error(fmt.Sprint(body, ": not ", want))
		}
	}
}
