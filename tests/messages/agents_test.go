package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	simulated "modelgateway/providers/simulator/anthropic"
	"modelgateway/tests/gatewaytest"
)

// captured is a request that an agent or an SDK has sent. Long texts of its body are cut,
// and the words are not the client's (tests/captures).
type captured struct {
	Client, Version, Query string
	Headers                map[string]string
	Body                   json.RawMessage
}

// requests are those in testdata/agents, by the name of their file.
func requests(t *testing.T) map[string]captured {
	t.Helper()
	files, err := filepath.Glob("testdata/agents/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string]captured{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c captured
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	return all
}

// TestRequestsOfAgentsAreServedByOtherProviders sends what real clients send to models of
// other providers, under the names that the clients ask for.
func TestRequestsOfAgentsAreServedByOtherProviders(t *testing.T) {
	t.Parallel()
	all := requests(t)
	for model, key := range map[string]string{gpt4: "OPENAI", gpt5: "OPENAI", "gpt-5.5": "OPENAI", flash2: "GEMINI", flash3: "GEMINI"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			p, r := gatewaytest.StartRecorded(t, "MODEL_ALIASES=claude-*="+model+";gpt-5="+model, "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=",
				"GEMINI_API_KEY=", key+"_API_KEY=sk-x")
			for name, c := range all {
				a := p.Call(t, "POST", "/v1/messages"+c.Query, string(c.Body), headersOf(c)...)
				sent := r.Take()
				if name == "claude-code-web-search" { // has no other tool
					if a.Status != 400 || len(sent) > 0 || !strings.Contains(a.Body, "Anthropic model") {
						t.Errorf("%s: %d %s", name, a.Status, a.Body)
					}
					continue
				}
				if a.Status != 200 || len(sent) != 1 {
					t.Errorf("%s: %d, %d calls of the upstream: %s", name, a.Status, len(sent), a.Body)
					continue
				}
				for _, foreign := range []string{"mgw1.", "x-anthropic-billing-header", `"signature"`, "c2lnLW9mLXRoaXMtdXBzdHJlYW0",
					"cache_control", "device_id", "DeferredToolPlaceholder"} {
					if strings.Contains(string(sent[0].Body), foreign) {
						t.Errorf("%s: the upstream is sent %s", name, foreign)
					}
				}
				complete(t, name, a)
			}
		})
	}
}

// signature is that of a thought, whose text needs no escapes.
var signature = regexp.MustCompile(`"thinking":"([^"\\]*)","signature":"[^"]+"`)

// TestRequestsOfAgentsReachAnthropicAsTheyAre sends them to Anthropic's models: not one byte
// of a body changes, and every beta travels.
func TestRequestsOfAgentsReachAnthropicAsTheyAre(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	for name, c := range requests(t) {
		if name == "claude-code-unknown-model" {
			continue // asks for a model of OpenAI's
		}
		c.Body = signature.ReplaceAllFunc(c.Body, func(block []byte) []byte { // the simulator takes its own only
			thinking := signature.FindSubmatch(block)[1]
			return fmt.Appendf(nil, `"thinking":"%s","signature":"%s"`, thinking, simulated.Sign(string(thinking)))
		})
		a := p.Call(t, "POST", "/v1/messages"+c.Query, string(c.Body), headersOf(c)...)
		sent := r.Take()
		if a.Status != 200 || len(sent) != 1 {
			t.Errorf("%s: %d, %d calls of the upstream: %s", name, a.Status, len(sent), a.Body)
			continue
		}
		if got := sent[0]; !bytes.Equal(got.Body, c.Body) || got.Path != "/v1/messages" ||
			got.Header.Get("Anthropic-Beta") != c.Headers["anthropic-beta"] {
			t.Errorf("%s: %s with the betas %s: %.500s", name, got.Path, got.Header.Get("Anthropic-Beta"), got.Body)
		}
		complete(t, name, a)
	}
}

func headersOf(c captured) (all []string) {
	for name, value := range c.Headers {
		all = append(all, name, value)
	}
	return all
}

// complete checks that an answer is a whole message, or a stream of one.
func complete(t *testing.T, name string, a gatewaytest.Answer) {
	t.Helper()
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		if at(t, []byte(a.Body), "type") != `"message"` {
			t.Errorf("%s: %s", name, a.Body)
		}
		return
	}
	var order grammar
	for line := range strings.Lines(a.Body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if fault := order.add(data); fault != "" {
			t.Errorf("%s: %s: %s", name, fault, line)
		}
	}
	if a.Err != nil || !order.stopped {
		t.Errorf("%s: %v, events %v", name, a.Err, order.seen)
	}
}
