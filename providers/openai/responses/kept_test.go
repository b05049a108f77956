package responses

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"modelgateway/providers"
)

func TestWhatIsAskedOfAResponseGoesToItsKeyAndComesBackWithTheClientsNames(t *testing.T) {
	var asked, key string
	status, answer := 200, ""
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked, key = strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)), r.Header.Get("Authorization")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer upstream.Close()
	p := apiAt(upstream.URL)
	name := func(id string) string { return "<" + strings.TrimPrefix(id, "resp_") + ">" }
	for want, tt := range map[string]struct {
		ask          providers.KeptAsk
		answer, told string
	}{
		"GET /v1/responses/resp_b?include=a": {
			providers.KeptAsk{Method: "GET", Query: "include=a"},
			`{"id":"resp_b", "previous_response_id" :"resp_a","x":{"resp_b":["resp_a","resp_c"]}}`,
			`{"id":"<b>", "previous_response_id" :"<a>","x":{"<b>":["<a>","resp_c"]}}`,
		},
		"DELETE /v1/responses/resp_b":      {providers.KeptAsk{Method: "DELETE"}, `{"id":"resp_b","deleted":true}`, `{"id":"<b>","deleted":true}`},
		"POST /v1/responses/resp_b/cancel": {providers.KeptAsk{Method: "POST", Part: "/cancel"}, `{"id":"resp_b"}`, `{"id":"<b>"}`},
		"GET /v1/responses/resp_b/input_items?limit=2": {
			providers.KeptAsk{Method: "GET", Part: "/input_items", Query: "limit=2"}, `{"object":"list","data":[]}`, `{"object":"list","data":[]}`,
		},
	} {
		tt.ask.ID, tt.ask.Name, answer = "resp_b", name, tt.answer
		got, err := p.Kept(t.Context(), tt.ask, "sk-1")
		if err != nil || string(got) != tt.told || asked != want || key != "Bearer sk-1" {
			t.Errorf("%s: asked %s with %s, %s, %v", want, asked, key, got, err)
		}
	}
	if _, _ = p.Kept(t.Context(), providers.KeptAsk{Method: "GET", ID: "../models?x#y", Name: name},
		"sk-1"); asked != "GET /v1/responses/..%2Fmodels%3Fx%23y" {
		t.Errorf("an id leads to %s", asked)
	}
	answer = "no JSON"
	if _, err := p.Kept(t.Context(), providers.KeptAsk{Method: "GET", ID: "resp_b", Name: name}, "sk-1"); err == nil {
		t.Error("an answer that is no JSON is passed on")
	}
	status, answer = 400, `{"error":{"message":"Response 'resp_b' cannot be cancelled.","type":"invalid_request_error","param":null,"code":null}}`
	_, err := p.Kept(t.Context(), providers.KeptAsk{Method: "POST", Part: "/cancel", ID: "resp_b", Name: name}, "sk-1")
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.Status != 400 || strings.Contains(string(r.Body)+r.Message, "resp_b") || !strings.Contains(string(r.Body), "'<b>'") || !strings.Contains(r.Message, "'<b>'") {
		t.Errorf("%v: %s", err, r.Body)
	}
}
