// Package archive compares what clients and upstreams see of the program with what they saw when the archive in testdata was
// made: -update makes it again, and git shows what has changed.
package archive

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "make the archive again")

// client is an API with the plainest request of its clients.
type client struct{ name, path, body string }

func clients() []client {
	return []client{
		{"chat", "/v1/chat/completions", `{"model":%q,"messages":[{"role":"user","content":"hi"}],"stream":%t}`},
		{"messages", "/v1/messages", `{"model":%q,"max_tokens":1024,"messages":[{"role":"user","content":"hi"}],"stream":%t}`},
		{"responses", "/v1/responses", `{"model":%q,"input":"hi","stream":%t}`},
	}
}

// Every recorded answer is played to a client of every API, whole and cut short.
func TestRecordedAnswersAreAsTheyWere(t *testing.T) {
	t.Parallel()
	dir := providertest.Own()
	all := append(providertest.Load(t, dir), providertest.Responses(t, dir)...)
	entries := make([]string, len(all))
	t.Run("recordings", func(t *testing.T) {
		for i, r := range all {
			t.Run(r.File, func(t *testing.T) {
				t.Parallel()
				entries[i] = played(t, r)
			})
		}
	})
	archives := map[string][]string{}
	for i, r := range all {
		folder := filepath.Dir(r.File)
		archives[folder] = append(archives[folder], entries[i])
	}
	for folder, list := range archives {
		slices.Sort(list)
		compare(t, folder, strings.Join(list, ""))
	}
}

// played is what the clients of all APIs get of a recording, and what its upstream gets.
func played(t *testing.T, r providertest.Recording) string {
	u := providertest.Serve(t)
	settings := []string{"MAX_RETRIES=0"}
	for _, name := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "GROQ"} {
		settings = append(settings, name+"_API_KEY=sk-"+name, name+"_BASE_URL="+u.URL)
	}
	p := gatewaytest.Start(t, settings...)
	p.Client = http.DefaultClient // answers of faulty upstreams are passed on, and are not those of the OpenAPI document
	var b strings.Builder
	for _, c := range clients() {
		model := r.ModelID()
		switch {
		case r.API == "responses" && c.name == "chat": // which goes to chat completions
			continue
		case r.Provider == "openai" && r.API != "responses" && c.name != "chat":
			model = "groq/" + model // the others use the Responses API where there is one
		}
		body := fmt.Sprintf(c.body, model, r.Stream)
		script := r.Script()
		call := func(s providertest.Script) gatewaytest.Answer {
			u.Play(s)
			return p.Call(t, "POST", c.path, body)
		}
		a := call(script)
		fmt.Fprintf(&b, "=== %s, %s\n", r.File, c.name)
		for _, asked := range u.Requests() {
			fmt.Fprintf(&b, "> %s %s\n%s\n%s\n", asked.Method, asked.Path, headers(asked.Header), plain(string(asked.Body), body))
		}
		fmt.Fprintf(&b, "< %s\n", shown(a, r))
		if r.Failed() { // a client that wants a stream is told the same, or in its stream
			body = fmt.Sprintf(c.body, model, true)
			if streamed := shown(call(script), r); streamed != shown(a, r) {
				fmt.Fprintf(&b, "streamed: %s\n", streamed)
			}
		}
		if r.Failed() || strings.Contains(a.Body, `"error":{`) {
			continue
		}
		for _, at := range cuts(bytes.Join(script.Pieces, nil)) {
			call(script) // the circuit stays closed
			fmt.Fprintf(&b, "cut at %d: %x\n", at, sha256.Sum256([]byte(shown(call(script.Cut(at, providertest.Proper)), r))))
		}
	}
	return b.String()
}

// cuts are the places at which a body is cut: in eight parts.
func cuts(body []byte) (places []int) {
	const parts = 8
	for i := range parts {
		if at := len(body) * i / parts; !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	return places
}

func shown(a gatewaytest.Answer, r providertest.Recording) string {
	end := ""
	if a.Err != nil {
		end = "\nbroken off"
	}
	return plain(fmt.Sprintf("%d\n%s\n%s%s\n", a.Status, headers(a.Header), a.Body, end), string(r.Body))
}

// compare compares a part of the archive with what is there now.
func compare(t *testing.T, name, now string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(name, "/", "-")+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old, lines, entry := strings.Split(string(before), "\n"), strings.Split(now, "\n"), ""
	for i, line := range lines {
		if strings.HasPrefix(line, "=== ") {
			entry = line
		}
		was := "missing"
		if i < len(old) {
			was = old[i]
		}
		if i >= len(old) || was != line {
			t.Errorf("%s, line %d, %s:\n now %.2000s\n was %.2000s", file, i+1, entry, line, was)
			return
		}
	}
	if len(old) > len(lines) {
		t.Errorf("%s: %d lines are missing, the first is %.2000s", file, len(old)-len(lines), old[len(lines)])
	}
}
