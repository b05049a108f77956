package simulator

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestErrorsAreSimulatedOnDemand(t *testing.T) {
	server := serve(t, Options{})
	cases := []struct {
		d      dialect
		status int
		says   string
		header string
	}{
		{asOpenAI, 400, `"invalid_request_error"`, ""},
		{asOpenAI, 401, `"invalid_api_key"`, "Www-Authenticate"},
		{asOpenAI, 418, `"invalid_request_error"`, ""},
		{asOpenAI, 429, `"rate_limit_exceeded"`, "Retry-After"},
		{asOpenAI, 500, `"type":"server_error","param":null,"code":null`, ""},
		{asOpenAI, 503, `"server_is_overloaded"`, "Retry-After"},
		{asAnthropic, 402, `"billing_error"`, "Request-Id"},
		{asAnthropic, 429, `"rate_limit_error"`, "Retry-After"},
		{asAnthropic, 529, `"type":"overloaded_error","message":"Overloaded"`, "X-Should-Retry"},
		{asAnthropic, 599, `"api_error"`, ""},
		{asGemini("gemini-2.5-pro", "generateContent"), 429, `"retryDelay":"1.5s"`, ""},
		{geminiSSE, 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, ""},
		{asGemini("gemini-2.5-pro", "streamGenerateContent"), 500, `[{"error":{"code":500`, ""},
		{asGemini("gemini-2.5-pro", "generateContent"), 599, `"UNKNOWN"`, ""},
	}
	for _, c := range cases {
		a := c.d.send(t, server, http.MethodPost, c.d.saying("Please simulate ERROR "+itoa(c.status)+"!", false))
		if a.status != c.status || !strings.Contains(string(a.body), c.says) {
			t.Errorf("%s: %d, want %d: %s", c.d.path, a.status, c.status, a.body)
		}
		if c.header != "" && a.header.Get(c.header) == "" {
			t.Errorf("%s %d has no %s", c.d.path, c.status, c.header)
		}
	}
}

func TestOtherTextDoesNotSimulateErrors(t *testing.T) {
	server := serve(t, Options{})
	for _, text := range []string{"simulate error 200", "simulate error 600", "simulate error 5000", "simulate error 429 from anthropic", "simulate truncations"} {
		if a := asOpenAI.send(t, server, http.MethodPost, asOpenAI.saying(text, true)); a.status != 200 || a.broken != nil {
			t.Errorf("%q: %d %v", text, a.status, a.broken)
		}
	}
}

func TestErrorsCanBeAskedOfOneProviderOnly(t *testing.T) {
	server := serve(t, Options{})
	text := "simulate error 529 from anthropic"
	if a := asAnthropic.send(t, server, http.MethodPost, asAnthropic.saying(text, false)); a.status != 529 {
		t.Errorf("anthropic: %d", a.status)
	}
	if a := geminiSSE.send(t, server, http.MethodPost, geminiSSE.saying(text, false)); a.status != 200 {
		t.Errorf("gemini: %d", a.status)
	}
}

func TestAnErrorAskedForInAnEarlierTurnIsHistory(t *testing.T) {
	server := serve(t, Options{})
	body := `{"model":"gpt-4","messages":[{"role":"user","content":"simulate error 500"},{"role":"assistant","content":"no"},{"role":"user","content":"hi"}]}`
	if a := asOpenAI.send(t, server, http.MethodPost, body); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

func TestStreamsFailMidway(t *testing.T) {
	server := serve(t, Options{})
	for _, c := range []struct {
		d             dialect
		begins, fault string
	}{
		{asOpenAI, `"chat.completion.chunk"`, `data: {"error":{"message":"The server had an error`},
		{asAnthropic, "event: message_start", "event: error\ndata: {"},
		{geminiSSE, `"text":"This"`, `data: {"error":{"code":503`},
		{asGemini("gemini-2.5-pro", "streamGenerateContent"), `[{"candidates"`, ",\r\n" + `{"error":{"code":503`},
	} {
		a := c.d.send(t, server, http.MethodPost, c.d.saying("simulate error midstream", true))
		body := string(a.body)
		if a.status != 200 || a.broken != nil || !strings.Contains(body, c.begins) || !strings.Contains(body, c.fault) {
			t.Errorf("%s: %d %v %s", c.d.path, a.status, a.broken, body)
		}
		for _, end := range []string{"[DONE]", "message_stop", "finishReason\":\"STOP"} {
			if strings.Contains(body, end) {
				t.Errorf("%s: ends with %s after an error", c.d.path, end)
			}
		}
		if strings.Index(body, c.fault) < len(body)-len(c.fault)-250 {
			t.Errorf("%s: the error is not the last event: %s", c.d.path, body)
		}
	}
}

func TestStreamsAreTruncatedInsideAnEvent(t *testing.T) {
	server := serve(t, Options{})
	for _, d := range []dialect{asOpenAI, asAnthropic, geminiSSE} {
		a := d.send(t, server, http.MethodPost, d.saying("simulate truncation", true))
		if a.status != 200 || !errors.Is(a.broken, io.ErrUnexpectedEOF) {
			t.Errorf("%s: status %d, body ended with %v", d.path, a.status, a.broken)
		}
		if len(a.body) == 0 || bytes.HasSuffix(a.body, []byte("\n")) {
			t.Errorf("%s: cut at %q", d.path, a.body)
		}
	}
}
