package simulator_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/simulator/simulatortest"
)

// say sends a request that says one thing.
func say(t *testing.T, server *httptest.Server, c simulatortest.Client, text string, stream bool) simulatortest.Answer {
	t.Helper()
	return c.Send(t, server, http.MethodPost, saying(c, text, stream))
}

func TestErrorsAreSimulatedOnDemand(t *testing.T) {
	server := simulatortest.Strict(t)
	cases := []struct {
		client   simulatortest.Client
		status   int
		contains string
		header   string
	}{
		{simulatortest.OpenAI, 400, `"invalid_request_error"`, ""},
		{simulatortest.OpenAI, 401, `"invalid_api_key"`, "Www-Authenticate"},
		{simulatortest.OpenAI, 418, `"invalid_request_error"`, ""},
		{simulatortest.OpenAI, 429, `"rate_limit_exceeded"`, "Retry-After"},
		{simulatortest.OpenAI, 500, `"type":"server_error","param":null,"code":null`, ""},
		{simulatortest.OpenAI, 503, `"server_is_overloaded"`, "Retry-After"},
		{simulatortest.Anthropic, 402, `"billing_error"`, "Request-Id"},
		{simulatortest.Anthropic, 429, `"rate_limit_error"`, "Retry-After"},
		{simulatortest.Anthropic, 529, `"type":"overloaded_error","message":"Overloaded"`, "X-Should-Retry"},
		{simulatortest.Anthropic, 599, `"api_error"`, ""},
		{simulatortest.Gemini("gemini-2.5-pro", "generateContent"), 429, `"retryDelay":"1.5s"`, ""},
		{geminiSSE, 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, ""},
		{simulatortest.Gemini("gemini-2.5-pro", "streamGenerateContent"), 500, `[{"error":{"code":500`, ""},
		{simulatortest.Gemini("gemini-2.5-pro", "generateContent"), 599, `"UNKNOWN"`, ""},
	}
	for _, c := range cases {
		a := say(t, server, c.client, "Please simulate ERROR "+strconv.Itoa(c.status)+"!", false)
		if a.Status != c.status || !strings.Contains(string(a.Body), c.contains) {
			t.Errorf("%s: %d, want %d: %s", c.client.Path, a.Status, c.status, a.Body)
		}
		if c.header != "" && a.Header.Get(c.header) == "" {
			t.Errorf("%s %d has no %s", c.client.Path, c.status, c.header)
		}
	}
}

func TestOtherTextDoesNotSimulateErrors(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, text := range []string{
		"simulate error 200", "simulate error 600", "simulate error 5000", "simulate error 429 from anthropic", "simulate truncations",
	} {
		if a := say(t, server, simulatortest.OpenAI, text, true); a.Status != 200 || a.Err != nil {
			t.Errorf("%q: %d %v", text, a.Status, a.Err)
		}
	}
}

func TestErrorsCanBeAskedOfOneProviderOnly(t *testing.T) {
	server := simulatortest.Strict(t)
	text := "simulate error 529 from anthropic"
	if a := say(t, server, simulatortest.Anthropic, text, false); a.Status != 529 {
		t.Errorf("anthropic: %d", a.Status)
	}
	if a := say(t, server, geminiSSE, text, false); a.Status != 200 {
		t.Errorf("gemini: %d", a.Status)
	}
}

func TestErrorsAskedForInAnEarlierTurnDoNotHappenAgain(t *testing.T) {
	server := simulatortest.Strict(t)
	body := simulatortest.ChatBody("",
		`{"role":"user","content":"simulate error 500"},{"role":"assistant","content":"no"},`+simulatortest.Hello)
	if a := simulatortest.OpenAI.Send(t, server, http.MethodPost, body); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

func TestStreamsFailMidway(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, c := range []struct {
		client        simulatortest.Client
		begins, fault string
	}{
		{simulatortest.OpenAI, `"chat.completion.chunk"`, `data: {"error":{"message":"The server had an error`},
		{simulatortest.Anthropic, "event: message_start", "event: error\ndata: {"},
		{geminiSSE, `"text":"This"`, `data: {"error":{"code":503`},
		{simulatortest.Gemini("gemini-2.5-pro", "streamGenerateContent"), `[{"candidates"`, ",\r\n" + `{"error":{"code":503`},
	} {
		a := say(t, server, c.client, "simulate error midstream", true)
		body := string(a.Body)
		if a.Status != 200 || a.Err != nil || !strings.Contains(body, c.begins) || !strings.Contains(body, c.fault) {
			t.Errorf("%s: %d %v %s", c.client.Path, a.Status, a.Err, body)
		}
		for _, end := range []string{"[DONE]", "message_stop", "finishReason\":\"STOP"} {
			if strings.Contains(body, end) {
				t.Errorf("%s: ends with %s after an error", c.client.Path, end)
			}
		}
		if strings.Index(body, c.fault) < len(body)-len(c.fault)-250 {
			t.Errorf("%s: the error is not the last event: %s", c.client.Path, body)
		}
	}
}

func TestStreamsAreTruncatedInsideAnEvent(t *testing.T) {
	server := simulatortest.Strict(t)
	for _, c := range []simulatortest.Client{simulatortest.OpenAI, simulatortest.Anthropic, geminiSSE} {
		a := say(t, server, c, "simulate truncation", true)
		if a.Status != 200 || !errors.Is(a.Err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: status %d, body ended with %v", c.Path, a.Status, a.Err)
		}
		if len(a.Body) == 0 || bytes.HasSuffix(a.Body, []byte("\n")) {
			t.Errorf("%s: cut at %q", c.Path, a.Body)
		}
	}
}
