package clouds

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/simulatortest"
)

// What Claude Code and the SDKs of Anthropic have sent is taken by Claude at every cloud that
// Anthropic's own API takes it from: betas and members that a cloud refuses are left out. A tool
// that runs at Anthropic is refused by name at Bedrock, which has none.
func TestRequestsOfAgentsAreTakenByEveryCloud(t *testing.T) {
	t.Parallel()
	p, _ := all(t, simulatortest.Settings(t)...)
	files, err := filepath.Glob("../messages/testdata/agents/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	taken := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Query   string
			Headers map[string]string
			Body    map[string]json.RawMessage
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(file, err)
		}
		recorded.Body["messages"] = signed(t, recorded.Body["messages"])
		var headers []string
		for name, value := range recorded.Headers {
			headers = append(headers, name, value)
		}
		send := func(model string) (int, string) {
			recorded.Body["model"] = json.RawMessage(`"` + model + `"`)
			body, err := json.Marshal(recorded.Body)
			if err != nil {
				t.Fatal(err)
			}
			a := p.Call(t, http.MethodPost, "/v1/messages?"+strings.TrimPrefix(recorded.Query, "?"), string(body), headers...)
			return a.Status, a.Body
		}
		var model string
		if err := json.Unmarshal(recorded.Body["model"], &model); err != nil {
			t.Fatal(file, err)
		}
		if status, why := send("anthropic/" + model); status != http.StatusOK {
			t.Logf("%s: %s", filepath.Base(file), why) // of a model that there is not
			continue
		}
		taken++
		for _, cloud := range []string{"bedrock", "vertex", "foundry"} {
			status, answer := send(cloud + "/" + model)
			hosted := cloud == "bedrock" && strings.Contains(string(recorded.Body["tools"]), `"web_search_`)
			if !hosted && (status != http.StatusOK || readMessage(answer).out == 0) ||
				hosted && (status != http.StatusBadRequest || !strings.Contains(answer, "web_search")) {
				t.Errorf("%s by %s: %d %s", filepath.Base(file), cloud, status, answer[:min(len(answer), 500)])
			}
		}
	}
	if taken < 15 {
		t.Errorf("only %d of %d recordings are taken by Anthropic's own API", taken, len(files))
	}
}

// signed are messages whose thoughts have the signatures of the simulator.
func signed(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var messages []map[string]any
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		blocks, _ := m["content"].([]any)
		for _, b := range blocks {
			if block, ok := b.(map[string]any); ok && block["type"] == "thinking" {
				thinking, _ := block["thinking"].(string)
				block["signature"] = anthropic.Sign(thinking)
			}
		}
	}
	out, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
