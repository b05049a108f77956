package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/providers"
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
	copies := slices.DeleteFunc(all.Presets(), func(p providers.Preset) bool { return p.Type != catalog.OpenAI }) // of OpenAI's API
	for _, preset := range copies {
		settings = append(settings, preset.Prefix+"_BASE_URL="+url+"/"+preset.Name+preset.Version)
		if !preset.Keyless || preset.ProviderSettings.Login {
			settings = append(settings, preset.Prefix+"_API_KEY=a-secret-of-"+preset.Name)
		}
	}
	p := gatewaytest.Start(t, settings...)
	for _, preset := range copies {
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

// A person with a budget calls a model of a server of their own, in ways that have a price
// elsewhere; what has a price in the models file costs it.
func TestModelsOfLocalServersCostNothingUnlessAPriceIsSet(t *testing.T) {
	t.Parallel()
	url := presets(t)
	file := filepath.Join(t.TempDir(), "models.yaml")
	const rented = "models:\n  - {id: rented, provider: vllm, price: {input: 1000, output: 1000}}\n"
	if err := os.WriteFile(file, []byte(rented), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := []string{"REQUIRE_AUTH=true", "MODELS_FILE=" + file, gatewaytest.JWTSecret, "GROQ_API_KEY=k", "GROQ_BASE_URL=" + url + "/groq/openai/v1"}
	var local []string
	for _, preset := range all.Presets() {
		if preset.Keyless && !preset.ProviderSettings.Login {
			local = append(local, preset.Name)
			settings = append(settings, preset.BaseURLSetting()+"="+url+"/"+preset.Name+preset.Version)
		}
	}
	p := gatewaytest.Start(t, settings...)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":1`)
	ask := func(model, members string) gatewaytest.Answer {
		return p.Patiently(t, "/v1/chat/completions",
			`{"model":"`+model+`","max_tokens":9`+members+`,"messages":[{"role":"user","content":"whole"}]}`, "Authorization", "Bearer "+key)
	}
	for _, name := range local {
		for _, members := range []string{"", `,"service_tier":"priority"`} {
			if a := ask(name+"/a-model", members); a.Status != 200 {
				t.Errorf("%s%s: %d %s", name, members, a.Status, a.Body)
			}
		}
	}
	if a := ask("groq/a-model", ""); a.Status != 403 || a.APIError(t).Code != "model_not_allowed" {
		t.Errorf("a hosted one without a price: %d %s", a.Status, a.Body)
	}
	if a := ask("rented", `,"n":1`); a.Status != 200 {
		t.Errorf("one with a price: %d %s", a.Status, a.Body)
	}
	gatewaytest.Until(t, "only that one is booked with a cost", func() bool {
		a := p.Call(t, http.MethodGet, "/v1/usage?group_by=model", "", "Authorization", "Bearer "+key)
		return strings.Count(a.Body, `"model":`) == len(local)+1 && strings.Count(a.Body, `"unpriced":0,`) == len(local)+2 &&
			strings.Count(a.Body, `"cost_usd":0}`) == len(local)
	})
}
