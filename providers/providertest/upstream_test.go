package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func fetch(ctx context.Context, t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("ask"))
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

func TestUpstreamPlaysItsScriptsInTurnAndRecordsItsCalls(t *testing.T) {
	up := Serve(t,
		Script{Status: 503, Header: http.Header{"Retry-After": {"7"}}},
		Script{Header: http.Header{"Content-Type": {"text/x"}}, Pieces: [][]byte{[]byte("an"), []byte("swer")}})
	want := []struct {
		status int
		body   string
	}{{503, ""}, {200, "answer"}, {200, "answer"}}
	for i, w := range want {
		resp, err := fetch(t.Context(), t, up.URL+"/any/path?n=1")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != w.status || string(body) != w.body {
			t.Errorf("call %d: %d %q %v", i, resp.StatusCode, body, err)
		}
		if i == 0 && resp.Header.Get("Retry-After") != "7" {
			t.Errorf("header: %v", resp.Header)
		}
	}
	calls := up.Requests()
	if len(calls) != 3 || calls[0].Method != "POST" || calls[0].Path != "/any/path?n=1" || string(calls[2].Body) != "ask" {
		t.Errorf("recorded %+v", calls)
	}
	if up.Play(); len(up.Requests()) != 0 {
		t.Error("Play keeps old calls")
	}
}

// Where the first piece ends shows only in how the body is read, so this is
// what stands between the suite's cuts and plain replays.
func TestUpstreamPartsTheFirstReadWhereTheFirstPieceEnds(t *testing.T) {
	body := bytes.Repeat([]byte("abcdefgh"), 1<<10)
	up := Serve(t)
	for at := 1; at < len(body); at += 61 {
		if at > 3900 && at < 4200 {
			continue // with these the padded header outgrows the client's buffer
		}
		s := Script{Header: http.Header{"Content-Type": {"text/event-stream"}}, Pieces: [][]byte{body}}.Split(at)
		s.apart = true
		up.Play(s)
		resp, err := fetch(t.Context(), t, up.URL)
		if err != nil {
			t.Fatal(err)
		}
		if ends := readEnds(t, resp.Body); !ends[at] || !ends[len(body)] {
			t.Errorf("cut at %d, reads end at %v", at, ends)
		}
		resp.Body.Close()
	}
}

// readEnds are the offsets at which reads of a body end.
func readEnds(t *testing.T, body io.Reader) map[int]bool {
	t.Helper()
	ends := map[int]bool{}
	buf, at := make([]byte, 8<<10), 0
	for {
		n, err := body.Read(buf)
		at += n
		ends[at] = true
		if err == io.EOF {
			return ends
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUpstreamEndsAsScripted(t *testing.T) {
	whole := Script{Pieces: [][]byte{[]byte("abc"), []byte("def")}}
	up := Serve(t, whole.Cut(4, Proper))
	read := func() (string, error) {
		resp, err := fetch(t.Context(), t, up.URL)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	if text, err := read(); text != "abcd" || err != nil {
		t.Errorf("proper: %q, %v", text, err)
	}
	up.Play(whole.Cut(4, Reset))
	if text, err := read(); !strings.HasPrefix("abcd", text) || err == nil {
		t.Errorf("reset: %q, %v", text, err)
	}
}

func TestUpstreamSeesItsClientLeave(t *testing.T) {
	up := Serve(t, Script{End: Hold})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begun := time.Now()
	resp, err := fetch(ctx, t, up.URL)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call on hold without pieces returns %v", err)
	}
	if at, ok := up.Gone(30 * time.Second); !ok || at.Sub(begun) < 15*time.Millisecond {
		t.Errorf("gone %v after %v", ok, at.Sub(begun))
	}
	if _, ok := up.Gone(time.Millisecond); ok {
		t.Error("one call has gone twice")
	}
}

func TestScriptKeepsItsBytesInAnyPieces(t *testing.T) {
	s := Script{Pieces: [][]byte{[]byte("ab"), []byte("cde"), []byte("f")}}
	for n, want := range map[int]string{0: "", 1: "a", 2: "ab", 3: "abc", 6: "abcdef", 9: "abcdef"} {
		if got := bytes.Join(s.Cut(n, Proper).Pieces, nil); string(got) != want {
			t.Errorf("cut at %d: %q", n, got)
		}
	}
	for _, other := range []Script{s.Bytewise(), s.Split(), s.Split(1), s.Split(2, 3), s.Split(9)} {
		if got := bytes.Join(other.Pieces, nil); string(got) != "abcdef" {
			t.Errorf("pieces %q", other.Pieces)
		}
	}
	if n := len(s.Bytewise().Pieces); n != 6 {
		t.Errorf("%d bytes", n)
	}
}
