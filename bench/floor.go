package main

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
)

// floor is the bare passthrough on Gin that the goals refer to: it reads a
// body, sends it on and copies the answer back. It parses nothing, so that it
// cannot tell an answer from a stream and flushes after each read; it has no
// pools, no log and no checks.
func floor(upstream string) http.Handler {
	client := &http.Client{Transport: passthroughTransport()}
	return passthrough(func(c *gin.Context) {
		body, err := io.ReadAll(c.Request.Body)
		if err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		req, err := forward(c, upstream, body)
		if err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			c.Status(http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer(c, resp, make([]byte, 32<<10), true)
	})
}

// tuned is the same, optimised: buffers are reused, the transport is used
// without a client around it, and only streams are flushed. It is measured
// beside the floor to show how much of the floor's cost is avoidable.
func tuned(upstream string) http.Handler {
	transport := passthroughTransport()
	pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	copies := sync.Pool{New: func() any { return new([32 << 10]byte) }}
	return passthrough(func(c *gin.Context) {
		body := pool.Get().(*bytes.Buffer)
		body.Reset()
		if _, err := body.ReadFrom(c.Request.Body); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		req, err := forward(c, upstream, body.Bytes())
		if err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			c.Status(http.StatusBadGateway)
			return
		}
		buffer := copies.Get().(*[32 << 10]byte)
		answer(c, resp, buffer[:], resp.ContentLength < 0)
		_ = resp.Body.Close()
		copies.Put(buffer)
		pool.Put(body) // the upstream of this benchmark has read all of it by now
	})
}

// passthroughTransport keeps its connections. Without MaxIdleConnsPerHost there
// would be two idle ones and a new one for most requests: a slower floor, and
// better ratios for the gateway.
func passthroughTransport() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: 1024} }

func passthrough(handle gin.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/v1/chat/completions", handle)
	engine.POST("/v1/embeddings", handle)
	return engine
}

func forward(c *gin.Context, upstream string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(c.Request.Context(), http.MethodPost, upstream+c.Request.URL.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = c.Request.Header.Clone()
	return req, nil
}

// answer copies the answer back. A cut answer must not look complete.
func answer(c *gin.Context, resp *http.Response, buffer []byte, flush bool) {
	for name, values := range resp.Header {
		c.Writer.Header()[name] = values
	}
	c.Status(resp.StatusCode)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			if _, err := c.Writer.Write(buffer[:n]); err != nil {
				return
			}
			if flush {
				c.Writer.Flush()
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
