//go:build unix

package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"
)

// The scripted provider answers every call with the same answer. Its tokens and the
// prices of models.yaml make what a call costs, in micro-dollars.
const (
	modelName    = "gpt-4o"
	inputTokens  = 58
	outputTokens = 88
	inputPrice   = 1
	outputPrice  = 5
	callCost     = inputTokens*inputPrice + outputTokens*outputPrice
	mostOutput   = 1024

	answerText = "A gateway stands between applications and the providers of models: it checks who calls, counts what is used, " +
		"and passes on what was asked to a provider that can answer it."

	modelsFile = "models:\n  - {id: " + modelName + ", provider: openai, context: 1048576, max_output: 16384, " +
		"price: {input: 1, output: 5}}\n"
)

// request is the body of every call.
var request = fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":"You are a helpful assistant."},`+
	`{"role":"user","content":"What does a gateway between applications and providers of models do? Answer in one sentence, please."}],`+
	`"temperature":0.7,"max_tokens":%d}`, modelName, mostOutput)

var answer = fmt.Appendf(nil, `{"id":"chatcmpl-CMKB0p2hTzWyqXJfkVdqWmvJc8rQd","object":"chat.completion","created":1759436814,`+
	`"model":"gpt-4o-2024-08-06","choices":[{"index":0,"message":{"role":"assistant","content":%q,"refusal":null,"annotations":[]},`+
	`"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d},`+
	`"service_tier":"default","system_fingerprint":"fp_cbf1785567"}`, answerText, inputTokens, outputTokens, inputTokens+outputTokens)

// certificateVariable is the file into which the provider writes its certificate.
const certificateVariable = "SCALE_CERTIFICATE"

// serveUpstream serves the provider on free ports, which it writes to standard output: with
// HTTP, and with HTTPS and HTTP/2 as real providers do. GET /calls is how many calls it has
// answered.
func serveUpstream() error {
	var calls atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the client sees that its call fails
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, calls.Load()) })
	secure := httptest.NewUnstartedServer(mux)
	secure.EnableHTTP2 = true
	secure.StartTLS() // it ends with the process
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(os.Getenv(certificateVariable), text, 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr(), secure.Listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}
