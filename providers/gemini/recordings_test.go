package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/providers/providertest"
)

// recording is the part of an entry of index.json that is compared here.
type recording struct {
	File     string `json:"file"`
	Provider string `json:"provider"`
	API      string `json:"api"`
	Status   int    `json:"http_status"`
	Model    string `json:"model"`
	Expect   struct {
		Text      string `json:"text"`
		Reasoning string `json:"reasoning"`
		Finish    string `json:"finish_reason_openai"`
		Calls     []struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"tool_calls"`
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Total      int64 `json:"total_tokens"`
		} `json:"usage_openai"`
		Error any `json:"error"`
	} `json:"expect"`
}

// TestRecordingsAreReadInAllThreeForms reads every recorded body as an
// answer: they come in all three forms, each as an answer to either method.
func TestRecordingsAreReadInAllThreeForms(t *testing.T) {
	dir := os.Getenv("RECORDINGS")
	if dir == "" {
		t.Skip("RECORDINGS names no folder")
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	if err := json.Unmarshal(index, &all); err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, r := range all {
		if r.Provider != "gemini" || r.API != "chat" && r.API != "synthetic" || r.Status != 200 {
			continue
		}
		played++
		t.Run(r.File, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(dir, r.File))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := collected(t, body)
			// A malformed call without text is shown as an error, so that it is tried again.
			if r.Expect.Error != nil || bytes.Contains(body, []byte("MALFORMED_FUNCTION_CALL")) {
				if e := api.AsError(err); err == nil || e.Status != 502 {
					t.Errorf("%+v, %v", answer, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(t, r, answer)
		})
	}
	if played < 60 {
		t.Errorf("only %d recordings", played)
	}
}

func collected(t *testing.T, body []byte) (*chat.Completion, error) {
	t.Helper()
	x, err := prepare(t, "gemini-3-pro-preview", ask)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.start(t.Context(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return providertest.Completion(x.call.Request, s.run)
}

func compare(t *testing.T, r recording, answer *chat.Completion) {
	t.Helper()
	c, want := answer.Choices[0], r.Expect
	content := ""
	if c.Message.Content != nil {
		content = *c.Message.Content
	}
	if content != want.Text || c.Message.ReasoningContent != want.Reasoning || c.FinishReason != want.Finish {
		t.Errorf("%q ~%q~ %s, want %q ~%q~ %s", content, c.Message.ReasoningContent, c.FinishReason, want.Text, want.Reasoning, want.Finish)
	}
	if len(c.Message.ToolCalls) != len(want.Calls) {
		t.Fatalf("calls %+v, want %+v", c.Message.ToolCalls, want.Calls)
	}
	for i, call := range c.Message.ToolCalls {
		var got, wanted any
		if json.Unmarshal([]byte(call.Function.Arguments), &got) != nil || json.Unmarshal([]byte(want.Calls[i].Arguments),
			&wanted) != nil ||
			!reflect.DeepEqual(got, wanted) || call.Function.Name != want.Calls[i].Name || call.ID == "" {
			t.Errorf("call %+v, want %+v", call, want.Calls[i])
		}
	}
	if u := answer.Usage; want.Usage != nil && (u == nil || u.PromptTokens != want.Usage.Prompt ||
		u.CompletionTokens != want.Usage.Completion || u.TotalTokens != want.Usage.Total) {
		t.Errorf("usage %+v, want %+v", u, want.Usage)
	}
}
