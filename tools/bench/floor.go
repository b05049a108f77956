package main

import (
	"bytes"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
)

// floor is the bare passthrough on Gin that the goals refer to: it reads a
// body, sends it on and copies the answer back. It parses nothing, so that it
// cannot tell an answer from a stream and flushes after each read; it has no
// pools, no log and no checks.
func floor(upstream string) http.Handler {
	// Without MaxIdleConnsPerHost there would be two idle connections and a new one for most
	// requests: a slower floor, and better ratios for the gateway.
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	pass := func(c *gin.Context) {
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
		answer(c, resp)
	}
	engine.POST("/v1/chat/completions", pass)
	engine.POST("/v1/embeddings", pass)
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
func answer(c *gin.Context, resp *http.Response) {
	buffer := make([]byte, 32<<10)
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
			c.Writer.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
