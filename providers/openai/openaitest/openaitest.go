// Package openaitest has what the tests of the provider's packages share.
package openaitest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// Lookup is a function that the model is offered, with a strict schema.
const Lookup = `{"type":"function","function":{"name":"lookup","description":"d","strict":true,"parameters":{"type":"object",` +
	`"properties":{"z":{"type":"string"},"a":{"anyOf":[{"type":"null"},{"type":"integer"}]}},"required":["a","z"],` +
	`"additionalProperties":false}}}`

// Saying is a request with messages.
func Saying(messages string) string { return `{"model":"gpt","messages":[` + messages + `]` }

// Serve is an upstream that answers every call with this body.
func Serve(t testing.TB, status int, contentType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Key is what calls are made with.
const Key = "sk-test"

// Options are those of a provider in the tests.
func Options(url string, server providers.Server) providers.Options {
	return providers.Options{
		BaseURL: url, Server: server, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		Now: func() time.Time { return time.Unix(1760000000, 0) },
	}
}

// Model is a model of the catalogue.
func Model(t testing.TB, id string) *catalog.Model {
	t.Helper()
	c := providertest.Catalog(t)
	return c.Derive(catalog.OpenAI, id)
}

// Hello is a request without its end.
const Hello = `{"model":"gpt","messages":[{"role":"user","content":"hi"}]`
