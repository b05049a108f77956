package deploy

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// trusting and public are the settings that all gateways behind a proxy have here.
const trusting, public = "TRUSTED_PROXIES=127.0.0.1", "PUBLIC_URL=https://" + host

// upstream is OpenAI's API, whose handler a test gives.
func upstream(t *testing.T, handler http.HandlerFunc) []string {
	t.Helper()
	url := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only then a server notices that its client leaves
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	return []string{trusting, public, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=" + url}
}

// paced sends a piece of a stream for each receiver's turn.
func paced(turns <-chan struct{}, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for _, piece := range pieces {
			select {
			case <-turns:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// ask sends a chat request through the proxy.
func (f *front) ask(ctx context.Context, client *http.Client, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req)
}

// stream opens a stream through the proxy.
func (f *front) stream(t *testing.T, client *http.Client) *http.Response {
	t.Helper()
	resp, err := f.ask(t.Context(), client, gatewaytest.Providers()[0].Request(gatewaytest.Streaming))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	return resp
}

// readUntil reads a stream until a text has come, and returns all that was read.
func readUntil(t *testing.T, resp *http.Response, text string) string {
	t.Helper()
	watch := time.AfterFunc(30*time.Second, func() { _ = resp.Body.Close() })
	defer watch.Stop()
	var seen strings.Builder
	for b := make([]byte, 4<<10); !strings.Contains(seen.String(), text); {
		n, err := resp.Body.Read(b)
		seen.Write(b[:n])
		if err != nil && !strings.Contains(seen.String(), text) {
			t.Fatalf("%q has not come: %v\n%s", text, err, seen.String())
		}
	}
	return seen.String()
}

func TestEventsPassTheProxyOneByOne(t *testing.T) {
	t.Parallel()
	o := gatewaytest.Providers()[0]
	for _, version := range []int{1, 2} {
		t.Run("HTTP"+strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
				turns := make(chan struct{}, 2)
				p := gatewaytest.Start(t, upstream(t, paced(turns, o.Start, o.Text("one "), o.Text("two "), o.Text("three "), o.End))...)
				f := behind(p)
				turns <- struct{}{} // the header of an answer comes with its first event
				turns <- struct{}{}
				resp := f.stream(t, f.speaking(t, version))
				if resp.ProtoMajor != version || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
					t.Errorf("HTTP/%d %v", resp.ProtoMajor, resp.Header)
				}
				for _, word := range []string{"one ", "two ", "three "} {
					readUntil(t, resp, word) // the upstream has sent nothing more until now
					turns <- struct{}{}
				}
				readUntil(t, resp, "[DONE]")
				if rest, err := io.ReadAll(resp.Body); err != nil || strings.TrimSpace(string(rest)) != "" {
					t.Errorf("the end: %q, %v", rest, err)
				}
			})
		})
	}
}

// speaking returns a client that speaks HTTP/1.1 or HTTP/2.
func (f *front) speaking(t *testing.T, version int) *http.Client {
	t.Helper()
	client := f.client(t, "127.0.0.1")
	if version == 1 {
		transport, _ := client.Transport.(*http.Transport)
		transport.ForceAttemptHTTP2, transport.Protocols = false, new(http.Protocols)
		transport.Protocols.SetHTTP1(true)
	}
	return client
}

// late answers at once only with the beginning of a stream, and with the rest, or an answer that is
// no stream, after a time.
func late(o gatewaytest.Provider, silence time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		streamed := bytes.Contains(body, []byte(`"stream":true`))
		if streamed {
			gatewaytest.WriteSlowly("text/event-stream", 0, o.Start, o.Text("early "))(w, r)
		}
		select {
		case <-time.After(silence):
		case <-r.Context().Done():
			return
		}
		if streamed {
			_, _ = io.WriteString(w, o.Text("late")+o.End)
		} else {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, o.Answer("late"))
		}
	}
}

func TestProxyWaitsForSlowAnswers(t *testing.T) {
	t.Parallel()
	o := gatewaytest.Providers()[0]
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		f := behind(gatewaytest.Start(t, upstream(t, late(o, 65*time.Second))...)) // many programs give up after 60 s
		whole := make(chan string, 1)
		go func() { // no byte in all that time
			resp, err := f.ask(t.Context(), f.client(t, "127.0.0.1"), o.Request(""))
			if err != nil {
				whole <- err.Error()
				return
			}
			defer func() { _ = resp.Body.Close() }()
			text, _ := io.ReadAll(resp.Body)
			whole <- string(text)
		}()
		resp := f.stream(t, f.client(t, "127.0.0.1"))
		text, err := io.ReadAll(resp.Body)
		if err != nil || gatewaytest.TextOf(string(text)) != "early late" || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Errorf("%v\n%s", err, text)
		}
		if n := strings.Count(string(text), "\n: "); n < 3 { // every 15 s
			t.Errorf("%d comments:\n%s", n, text)
		}
		if answer := <-whole; gatewaytest.TextOf(answer) != "late" {
			t.Errorf("the answer that is no stream: %s", answer)
		}
	})
}

func TestClientThatLeavesEndsTheCallBehindTheProxy(t *testing.T) {
	t.Parallel()
	o := gatewaytest.Providers()[0]
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		var left atomic.Bool
		p := gatewaytest.Start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
			gatewaytest.WriteSlowly("text/event-stream", 0, o.Start, o.Text("one "))(w, r)
			<-r.Context().Done()
			left.Store(true)
		})...)
		f := behind(p)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		resp, err := f.ask(ctx, f.client(t, "127.0.0.1"), o.Request(gatewaytest.Streaming))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		readUntil(t, resp, "one ")
		leave()
		gatewaytest.Until(t, "the call of the provider ends", left.Load)
		gatewaytest.Until(t, "the call is counted as left by its client", func() bool {
			return strings.Contains(p.Get(t, "/metrics").Body, `outcome="client_gone"`)
		})
	})
}

func TestStoppingGatewayEndsStreamsThroughTheProxy(t *testing.T) {
	t.Parallel()
	o := gatewaytest.Providers()[0]
	for grace, finishes := range map[string]bool{"60": true, "1": false} {
		t.Run("grace of "+grace+" s", func(t *testing.T) {
			t.Parallel()
			eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
				turns := make(chan struct{}, 2)
				settings := upstream(t, paced(turns, o.Start, o.Text("one "), o.Text("two")+o.End))
				p := gatewaytest.Start(t, append(settings, "SHUTDOWN_GRACE_SECONDS="+grace)...)
				f := behind(p)
				turns <- struct{}{}
				turns <- struct{}{}
				resp := f.stream(t, f.client(t, "127.0.0.1"))
				seen := readUntil(t, resp, "one ")
				stopped := make(chan error, 1)
				go func() { stopped <- p.Stop() }()
				if finishes {
					gatewaytest.Until(t, "the gateway stops", func() bool { return strings.Contains(p.Log.String(), "stopping: ") })
					turns <- struct{}{}
				}
				rest, err := io.ReadAll(resp.Body)
				if err != nil && finishes { // the other end is that of a connection that is closed after the error
					t.Errorf("the end of the stream: %v", err)
				}
				seen += string(rest)
				if whole := strings.HasSuffix(seen, "data: [DONE]\n\n") && gatewaytest.TextOf(seen) == "one two"; whole != finishes {
					t.Errorf("whole: %v\n%s", whole, seen)
				}
				if told := strings.Contains(seen, "the gateway is stopping"); told == finishes {
					t.Errorf("told: %v\n%s", told, seen)
				}
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNoRequestIsLostWhenAReplicaStopsBehindTheProxy(t *testing.T) {
	t.Parallel()
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		first, second := simulated(t, "SHUTDOWN_GRACE_SECONDS=60"), simulated(t)
		f := behind(first, second)
		late := longtest.Lateness(t)
		var before atomic.Int64 // the machine's pauses until the stop
		before.Store(math.MaxInt64)
		stopped := make(chan error, 1)
		go func() { // while the requests below are sent
			gatewaytest.Until(t, "both serve", func() bool { return calls(first) > 0 && calls(second) > 0 })
			before.Store(int64(late()))
			stopped <- first.Stop()
		}()
		client := f.client(t, "127.0.0.1")
		for after, ended := 0, false; after < 20; {
			a := f.do(t, client, http.MethodPost, "/v1/chat/completions", strings.NewReader(gatewaytest.HelloRequest))
			pauses := late() - time.Duration(before.Load())
			switch lost := a.Status != 200 || a.Err != nil; {
			case lost && pauses > time.Second:
				// A proxy that stands still does not use its connection in the two seconds in which it is told to close it.
				t.Logf("lost after pauses of %s: %d %v", pauses, a.Status, a.Err)
			case lost:
				t.Errorf("%d %v %s", a.Status, a.Err, a.Body)
			}
			select {
			case err := <-stopped:
				ended = true
				if err != nil {
					t.Error(err)
				}
			default:
			}
			if ended {
				after++
			}
		}
	})
}

// calls counts the chat requests in the log of a gateway.
func calls(p *gatewaytest.Program) int {
	return strings.Count(p.Log.String(), `"route":"/v1/chat/completions"`)
}
