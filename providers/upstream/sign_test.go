package upstream

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/providers"
)

// signature is a signature over a body and a header, as the clouds have them.
func signature(key, header string, body []byte) string {
	sum := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(sum, "%s\n%s", header, body)
	return hex.EncodeToString(sum.Sum(nil))
}

// lengths reads frames of a length and as many bytes of JSON.
func lengths(frames io.Reader) io.Reader {
	events, out := io.Pipe()
	go func() {
		var length [4]byte
		for {
			if _, err := io.ReadFull(frames, length[:]); err != nil {
				_ = out.CloseWithError(err)
				return
			}
			frame := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(frames, frame); err != nil {
				_ = out.CloseWithError(err)
				return
			}
			if _, err := fmt.Fprintf(out, "data: %s\n\n", frame); err != nil {
				return
			}
		}
	}()
	return events
}

func TestAnUpstreamMaySignBodiesAndFrameItsEvents(t *testing.T) {
	server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Signature") != signature("token 2", r.Header.Get("Fixed"), body) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/x-frames; v=1")
		for i := range 3 {
			event := fmt.Sprintf(`{"n":%d}`, i)
			_ = binary.Write(w, binary.BigEndian, uint32(len(event)))
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	tokens := 0
	var failure error
	client := New(Options{
		Provider: "openai", BaseURL: server.URL, Headers: map[string]string{"Fixed": "operator's"},
		Sign: func(_ context.Context, r *http.Request, key string, body [][]byte) error {
			tokens++ // each call renews the token of the key
			r.Header.Set("X-Signature", signature(fmt.Sprintf("%s %d", key, tokens), r.Header.Get("Fixed"), bytes.Join(body, nil)))
			return failure
		},
		Framing:       &Framing{ContentType: "application/x-frames", ToSSE: lengths},
		Refused:       func(int, []byte) providers.Refusal { return providers.Refusal{} },
		HeaderTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	if _, err := client.Events(t.Context(), "token", "/x", []byte("{"), []byte("}")); err == nil {
		t.Fatal("the first token was accepted")
	}
	events, err := client.Events(t.Context(), "token", "/x", []byte("{"), []byte("}"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if answer, err := events.JSON(); answer != nil || err != nil {
		t.Errorf("%s %v", answer, err)
	}
	for i := range 3 {
		if e, err := events.Next(); err != nil || string(e.Data) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("%s %v", e.Data, err)
		}
	}
	if _, err := events.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	failure = errors.New("the token server is away")
	_, err = client.Post(t.Context(), "token", "/x", nil)
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || refusal.Verdict() != providers.Retryable || !errors.Is(err, failure) {
		t.Fatalf("%v", err)
	}
	if e := refusal.ClientError(); e.Status != http.StatusBadGateway || strings.Contains(e.Message, "token") {
		t.Errorf("%d %s", e.Status, e.Message)
	}
}

func TestARefusedCredentialIsTheKeysFault(t *testing.T) {
	client := testClient("http://127.0.0.1:1", time.Minute)
	client.opts.Sign = func(context.Context, *http.Request, string, [][]byte) error { return &providers.Refusal{Key: true} }
	_, err := client.Post(t.Context(), canary, "/x", nil)
	if refusal, ok := errors.AsType[*providers.Refusal](err); !ok || refusal.Verdict() != providers.NextKey || refusal.Provider != "openai" {
		t.Errorf("%v", err)
	}
}

func TestASignatureCoversTheTraceAndMayNotHang(t *testing.T) {
	const key = "a long secret"
	var parent string
	client := New(Options{
		Provider: "openai", BaseURL: "http://127.0.0.1:1", HeaderTimeout: 20 * time.Millisecond, IdleTimeout: time.Minute,
		Sign: func(ctx context.Context, r *http.Request, key string, _ [][]byte) error {
			parent = r.Header.Get("Traceparent")
			<-ctx.Done()
			return fmt.Errorf("the token server did not take %s", key)
		},
	})
	_, err := client.Post(WithTrace(t.Context(), &Trace{Parent: "00-1-2-01"}), key, "/x", nil)
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || parent != "00-1-2-01" || !errors.Is(err, errIdle) || !strings.Contains(refusal.Public, "credential") {
		t.Errorf("%q %v", parent, err)
	}
	client.opts.Sign = func(context.Context, *http.Request, string, [][]byte) error { return errors.New("bad " + key) }
	_, err = client.Post(t.Context(), key, "/x", nil)
	if refusal, ok = errors.AsType[*providers.Refusal](err); !ok || refusal.Cause.Error() != "bad [redacted]" {
		t.Errorf("%v", err)
	}
}
