package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// chatRequest is the body of a chat request.
func chatRequest(model, words string, stream bool) string {
	members := ""
	if stream {
		members = `,"stream":true`
	}
	return `{"model":` + quote(model) + `,"messages":[{"role":"user","content":` + quote(words) + `}]` + members + `}`
}

// received is what a client received of a stream.
type received struct {
	text   string // the content, joined
	finish string // the finish reason, if one came
	done   bool   // [DONE] came
	fault  string // the error event, if one came
	err    error  // of reading: a cut; or of what was read
}

var errAfterEnd = errors.New("data after the end of the stream")

// receive reads a stream to its end or until it breaks off.
func receive(body io.Reader) received {
	var t received
	var text strings.Builder
	lines := bufio.NewReader(body)
	for t.err == nil {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			break
		}
		data, isData := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
		switch {
		case err != nil:
			t.err = err // what a cut has left of a line is no event
			if err == io.EOF {
				t.err = io.ErrUnexpectedEOF
			}
		case !isData: // an empty line or a comment
		case t.done || t.fault != "":
			t.err = errAfterEnd
		case data == "[DONE]":
			t.done = true
		default:
			t.err = t.take(data, &text)
		}
	}
	t.text = text.String()
	return t
}

func (t *received) take(data string, text *strings.Builder) error {
	var event struct {
		Error   json.RawMessage
		Choices []struct {
			Delta        struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return fmt.Errorf("event %q: %w", data, err)
	}
	t.fault = string(event.Error)
	for _, c := range event.Choices {
		text.WriteString(c.Delta.Content)
		if c.FinishReason != "" {
			t.finish = c.FinishReason
		}
	}
	return nil
}

// readStream is the client's side of a stream: its content joined, whether
// [DONE] came, the error event if there was one, and the error of reading.
func readStream(body io.Reader) (text string, done bool, fault string, err error) {
	t := receive(body)
	return t.text, t.done, t.fault, t.err
}

// receiveAnswer reads a whole answer, which is done when it could be read.
func receiveAnswer(body io.Reader) (r received) {
	var answer struct {
		Choices []struct {
			Message      struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
	}
	text, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	switch {
	case err != nil:
		r.err = fmt.Errorf("answer %.200q: %w", text, err)
	case len(answer.Choices) != 1:
		r.err = fmt.Errorf("answer %.200q has not one choice", text)
	default:
		r.text, r.finish, r.done = answer.Choices[0].Message.Content, answer.Choices[0].FinishReason, true
	}
	return r
}

// chatResult is what a client received of one call.
type chatResult struct {
	status int
	header http.Header
	body   string // of an answer that is not 200
	used   connectionUse
	received
}

// connectionUse is what became of a connection before a call had it, which
// tells why the call ended in EOF.
type connectionUse struct {
	reused bool
	idle   time.Duration // before the call
	age    time.Duration // since it was opened
}

// datedConn is a connection that knows its age.
type datedConn struct {
	net.Conn
	opened time.Time
}

// noting has ctx note the connection of a call.
func noting(ctx context.Context, use *connectionUse) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		use.reused, use.idle = info.Reused, info.IdleTime
		if c, ok := info.Conn.(*datedConn); ok {
			use.age = time.Since(c.opened)
		}
	}})
}

// whole reports whether the call ended completely with this text.
func (s chatResult) whole(text string) bool {
	return s.status == http.StatusOK && s.err == nil && s.fault == "" && s.done && s.finish != "" && s.text == text
}

// String describes a call that should have been complete.
func (s chatResult) String() string {
	return fmt.Sprintf("status %d, %.200s, text %.200q, done %v, finish %q, fault %.200s, error %v, connection %+v, at %s",
		s.status, s.body, s.text, s.done, s.finish, s.fault, s.err, s.used, time.Now().UTC().Format(time.StampMilli))
}

// chat makes one call and reads all that comes.
func chat(ctx context.Context, client *http.Client, url, body string, header ...string) chatResult {
	var used connectionUse
	req, err := http.NewRequestWithContext(noting(ctx, &used), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return chatResult{received: received{err: err}}
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return chatResult{used: used, received: received{err: err}}
	}
	defer func() { _ = resp.Body.Close() }()
	s := chatResult{status: resp.StatusCode, header: resp.Header, used: used}
	switch {
	case resp.StatusCode != http.StatusOK:
		var text []byte
		text, s.err = io.ReadAll(resp.Body)
		s.body = string(text)
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		s.received = receive(resp.Body)
	default:
		s.received = receiveAnswer(resp.Body)
	}
	return s
}

// newClient keeps as many connections as are used at once, though none so long
// that the gateway would close it for having said nothing yet.
func newClient(t testing.TB) *http.Client {
	t.Helper()
	return newClientIdle(t, 5*time.Second)
}

// newClientIdle keeps connections that no call uses for so long.
func newClientIdle(t testing.TB, idle time.Duration) *http.Client {
	t.Helper()
	dialer := new(net.Dialer)
	transport := &http.Transport{
		MaxIdleConnsPerHost: 2000, MaxIdleConns: 0, IdleConnTimeout: idle,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &datedConn{Conn: conn, opened: time.Now()}, nil
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}
