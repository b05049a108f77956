package idp

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// Keys of a provider are fetched at most mostFetches times in fetchWindow. go-oidc
// fetches them for each ID token whose key it does not know.
const (
	mostFetches = 2 // the first use, and a key that was replaced right after it
	fetchWindow = 10 * time.Second
)

// keyCache answers further requests for a provider's keys from its last answer.
type keyCache struct {
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex // held during a request: others wait for its answer
	header  http.Header
	body    []byte
	fetched [mostFetches]time.Time // the oldest first
}

// RoundTrip requests the keys, or repeats the last answer.
func (k *keyCache) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Before(k.fetched[0].Add(fetchWindow)) {
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: k.header.Clone(), Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)),
		}, nil
	}
	response, err := k.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body, err := io.ReadAll(response.Body) // which is bounded
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	k.header, k.body = response.Header.Clone(), body
	copy(k.fetched[:], k.fetched[1:])
	k.fetched[mostFetches-1] = k.now()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
