package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/all"
	"modelgateway/tests/gatewaytest"
)

// presets is a server that is every preset: the first part of a path is the name of
// one, whose answers are in the file of its name. The text of the last message is the
// section that answers.
func presets(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		text, err := os.ReadFile(gatewaytest.File(t, "providers/all/testdata/presets/"+name+".txt"))
		if err != nil {
			t.Error(err)
		}
		body, _ := io.ReadAll(r.Body)
		section, stream, status := "whole", strings.Contains(string(body), `"stream":true`), http.StatusOK
		for _, s := range []string{"call", "error"} {
			if strings.Contains(string(body), `"content":"`+s+`"`) {
				section = s
			}
		}
		if stream {
			section = map[string]string{"whole": "stream", "call": "call stream"}[section]
		}
		_, answer, _ := strings.Cut("\n"+string(text), "\n== "+section+"\n")
		answer, _, _ = strings.Cut(answer, "\n== ")
		if section == "error" {
			code, rest, _ := strings.Cut(answer, " ")
			status, _ = strconv.Atoi(code)
			answer = rest
		}
		w.Header().Set("Content-Type", "application/json")
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
			answer = events(answer)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// events are the lines of a file as an event stream.
func events(lines string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ":") {
			line = "data: " + line
		}
		out.WriteString(line + "\n\n")
	}
	return out.String()
}

// Every preset is configured by the environment alone, and what it says reaches
// clients in the form of the OpenAPI document.
func TestEveryPresetAnswersThroughTheProgram(t *testing.T) {
	t.Parallel()
	url := presets(t)
	var settings []string
	for _, preset := range all.Presets() {
		settings = append(settings, preset.Prefix+"_BASE_URL="+url+"/"+preset.Name+preset.Version)
		if !preset.Keyless {
			settings = append(settings, preset.Prefix+"_API_KEY=a-secret-of-"+preset.Name)
		}
	}
	p := gatewaytest.Start(t, settings...)
	for _, preset := range all.Presets() {
		for _, members := range []string{"", gatewaytest.Streaming} {
			said := func(text string) gatewaytest.Answer {
				return p.Chat(t, `{"model":"`+preset.Name+`/a-model","messages":[{"role":"user","content":"`+text+`"}]`+members+`}`)
			}
			a := said("whole")
			if a.Status != 200 || gatewaytest.TextOf(a.Body) != "Paris." || a.Header.Get("X-Gateway-Provider") != preset.Name {
				t.Errorf("%s%s: %d %s", preset.Name, members, a.Status, a.Body)
			}
			if a = said("call"); a.Status != 200 || !strings.Contains(a.Body, `"arguments":"{\"city\": \"Paris\"}"`) {
				t.Errorf("%s%s: %d %s", preset.Name, members, a.Status, a.Body)
			}
			if members != "" {
				continue
			}
			want := `"provider":"` + preset.Name + `"`
			if a = said("error"); a.Status == http.StatusNotFound {
				want = "model_not_found" // is the provider's word for it
			}
			if a.Status < 400 || a.Status >= 500 || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %d %s", preset.Name, a.Status, a.Body)
			}
		}
	}
}
