package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"modelgateway/config"
)

// client posts to a collector by OTLP 1.9 over HTTP. docs/adr/0020 says why it
// is not OpenTelemetry's otlptracehttp.
type client struct {
	cfg  config.Tracing
	http *http.Client
}

func newClient(cfg config.Tracing) *client {
	return &client{cfg: cfg, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg.TLS, TLSHandshakeTimeout: cfg.Timeout,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		},
		Timeout: cfg.Timeout,
		// A redirect would carry the collector's credential to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// retryable is a failure after which the same post may succeed.
type retryable struct {
	error
	after time.Duration // the collector's Retry-After, or 0
}

// send posts until the collector accepts the request or refuses it, or ctx
// ends. It returns how many spans of an accepted request were rejected.
func (c *client) send(ctx context.Context, request *collectorpb.ExportTraceServiceRequest) (rejected int64, err error) {
	body, err := c.encode(request)
	if err != nil {
		return 0, fmt.Errorf("encode spans: %w", err)
	}
	const first, longest = 500 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		rejected, err = c.post(ctx, body)
		failure, ok := errors.AsType[retryable](err)
		if !ok {
			return rejected, err
		}
		wait := max(failure.after, pause/2+time.Duration(rand.Int64N(int64(pause))))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(wait):
		}
	}
}

// encode returns the body of a post.
func (c *client) encode(request *collectorpb.ExportTraceServiceRequest) ([]byte, error) {
	message, err := proto.Marshal(request)
	if err != nil || !c.cfg.Gzip {
		return message, err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}

// post sends once.
func (c *client) post(ctx context.Context, body []byte) (rejected int64, err error) {
	encoding := ""
	if c.cfg.Gzip {
		encoding = "gzip"
	}
	resp, err := c.do(ctx, c.cfg.Endpoint, "application/x-protobuf", encoding, body)
	if err != nil {
		return 0, retryable{error: fmt.Errorf("post spans: %w", err)}
	}
	defer func() { _ = resp.Body.Close() }()
	answer, readErr := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	err = fmt.Errorf("post spans: %s", resp.Status)
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if readErr != nil {
			return 0, nil // the collector has accepted the spans
		}
		return rejectedSpans(answer), nil
	// Section "Failures" of OTLP names these four as retryable.
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return 0, retryable{err, time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	default:
		return 0, err
	}
}

// do posts a body of a media type, and with an encoding unless that is empty. The caller closes the answer.
func (c *client) do(ctx context.Context, to, kind, encoding string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, withoutURL(err)
	}
	for name, value := range c.cfg.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("User-Agent", "modelgateway")
	req.Header.Set("Content-Type", kind)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	return resp, nil
}

// withoutURL is an error that may be logged: the path of a hosted collector's address may
// be a credential.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// rejectedSpans is how many spans the collector rejected although it accepted
// the post. A body that is not an OTLP response counts as none.
func rejectedSpans(body []byte) int64 {
	var response collectorpb.ExportTraceServiceResponse
	if proto.Unmarshal(body, &response) != nil {
		return 0
	}
	return response.GetPartialSuccess().GetRejectedSpans()
}
