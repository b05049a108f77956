package chat

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// marker is the text of a prompt that comes back in its answer.
var marker = regexp.MustCompile(`mk-[a-z]+-\d+-\d+-km`)

// startEcho is the upstream of all three providers. It answers with the marker of
// the prompt many times, which shows a buffer that is shared by two calls.
func startEcho(t *testing.T) string {
	t.Helper()
	byPath := map[string]gatewaytest.Provider{}
	for _, f := range gatewaytest.Providers() {
		byPath[f.Name] = f
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mark := marker.FindString(string(body))
		f := byPath["gemini"]
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			f = byPath["anthropic"]
		case strings.HasSuffix(r.URL.Path, "/chat/completions"):
			f = byPath["openai"]
		}
		if !strings.Contains(string(body), `"stream":true`) && !strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "application/json")
			answer := f.Answer(strings.Repeat(mark, 40))
			_, _ = io.WriteString(w, strings.Replace(answer, `},"finish_reason":"stop"`, `,"refusal":null},"finish_reason":"stop"`, 1))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, f.Start)
		for i := range 40 {
			_, _ = io.WriteString(w, f.Text(mark))
			if i%7 == 0 {
				_ = http.NewResponseController(w).Flush()
			}
		}
		_, _ = io.WriteString(w, f.End)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Buffers and connections are reused, and clients leave in the middle of calls:
// no caller may get a byte of another's answer. ISOLATION sets the number of
// requests.
func TestNoAnswerReachesAnotherCaller(t *testing.T) {
	const callers = 50
	requests := longtest.Size(1000, 3000)
	if n, err := strconv.Atoi(os.Getenv("ISOLATION")); err == nil {
		requests = n
	}
	upstream := startEcho(t)
	p := gatewaytest.Start(t, "LOG_LEVEL=info", "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k", "GEMINI_API_KEY=k",
		"OPENAI_BASE_URL="+upstream, "ANTHROPIC_BASE_URL="+upstream, "GEMINI_BASE_URL="+upstream)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var whole, left atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range requests / callers {
				f := gatewaytest.Providers()[(caller+i)%3]
				mark := fmt.Sprintf("mk-%s-%d-%d-km", f.Name, caller, i)
				body := fmt.Sprintf(
					`{"model":%q,"messages":[{"role":"user","content":"%s"}],"stream":%v}`,
					f.Model,
					strings.Repeat(mark+" ", 1+i%60),
					i%2 == 0,
				)
				leaves := i%5 == 3
				text, ended := callOnce(t, client, p.URL, body, leaves)
				for _, other := range marker.FindAllString(text, -1) {
					if other != mark {
						t.Errorf("%s was sent %s", mark, other)
					}
				}
				if !ended {
					left.Add(1)
					continue
				}
				whole.Add(1)
				if n := strings.Count(text, mark); n != 40 {
					t.Errorf("%s came %d times in %.300s", mark, n, text)
				}
			}
		})
	}
	all.Wait()
	if whole.Load() < int64(requests)*3/4 || left.Load() == 0 {
		t.Errorf("%d whole answers, %d left, of %d", whole.Load(), left.Load(), requests)
	}
}

// callOnce makes one call, or leaves it at a random moment, and returns what was
// received.
func callOnce(t *testing.T, client *http.Client, base, body string, leaves bool) (text string, ended bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if leaves {
		time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return "", false
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if !leaves {
			t.Error(err)
		}
		return "", false
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil && !leaves {
		t.Error(err)
	}
	return string(all), err == nil && resp.StatusCode == 200
}
