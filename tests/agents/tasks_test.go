package agents

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

const (
	task = `TASK one: put "tok5187" into hello.txt and then read the file back to be sure.`
	done = "The task is done."
	// turns are the answers of a model in the task: it writes, then it reads in two ways at
	// once, then it says so.
	turns = 3
)

func TestClaudeCodeDoesATaskWithAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		r := s.claude(t, task)
		s.didTheTask(t, r)
		s.upstream.acceptedAll(t)
		if calls := s.upstream.exchanges(); len(calls) != turns {
			t.Fatalf("%d upstream calls", len(calls))
		}
		s.isBooked(t)
		switch last := s.upstream.exchanges()[turns-1].body; f.name {
		case "anthropic":
			s.travelledWhole(t)
		case "gemini":
			if !strings.Contains(last, `"thoughtSignature":"`) || strings.Contains(last, "skip_thought_signature_validator") {
				t.Errorf("the signatures of the thoughts did not come back: %s", last)
			}
		}
	})
}

func TestClaudeAgentSDKDoesATaskWithAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, _ provider) {
		s.didTheTask(t, s.sdk(t, task))
		s.upstream.acceptedAll(t)
		s.isBooked(t)
	})
}

// didTheTask requires the file, the answer that comes from the last results, and usage.
func (s *session) didTheTask(t *testing.T, r result) {
	t.Helper()
	s.hasTheFile(t)
	if r.exit != 0 || r.IsError || !strings.Contains(r.Text, done) || !strings.Contains(r.Text, `The tool Bash returned: "tok5187"`) {
		t.Errorf("exit code %d: %+v", r.exit, r)
	}
	if r.Usage.Input+r.Usage.CacheRead+r.Usage.CacheWrite == 0 || r.Usage.Output == 0 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// hasTheFile requires the file of the task.
func (s *session) hasTheFile(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.work, "hello.txt"))
	if err != nil || string(text) != "tok5187\n" {
		t.Errorf("the file has %q: %v", text, err)
	}
}

// isBooked requires a row of the ledger, with tokens, for each upstream call.
func (s *session) isBooked(t *testing.T) {
	t.Helper()
	db := gatewaytest.OpenSQL(t, "sqlite:"+s.database)
	want := int64(len(s.upstream.exchanges()))
	gatewaytest.Until(t, "the ledger has every call", func() bool {
		return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE status = 200 AND input_tokens > 0 AND output_tokens > 0") == want
	})
}

// travelledWhole requires what only Anthropic understands, as the client sends it, and the
// operator's key.
func (s *session) travelledWhole(t *testing.T) {
	t.Helper()
	for _, e := range s.upstream.exchanges() {
		for _, want := range []string{
			`"context_management":{"edits":[`, `"thinking":{"type":"adaptive"`, `"role":"system"`, `"defer_loading":true`,
		} {
			if !strings.Contains(e.body, want) {
				t.Errorf("no %s reached Anthropic", want)
			}
		}
		if !strings.Contains(e.header.Get("Anthropic-Beta"), "context-management-") || !strings.HasSuffix(e.path, "?beta=true") {
			t.Errorf("%s with the betas %q", e.path, e.header["Anthropic-Beta"])
		}
		if e.header.Get("X-Api-Key") != "sk-upstream" || e.header.Get("Authorization") != "" {
			t.Error("the client's credential reached Anthropic, or the operator's did not")
		}
	}
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// page is a PDF of one empty page.
const page = `%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj
trailer<</Root 1 0 R>>
%%EOF`

func TestPicturesAndPDFThatAToolReadsReachAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		png, err := base64.StdEncoding.DecodeString(pixel)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []struct {
			name, found, has string
			data             []byte
		}{
			{"picture.png", "With it came 1 image.", f.picture, png},
			{"page.pdf", "With it came 1 file.", "JVBERi0", []byte(page)},
		} {
			if err := os.WriteFile(filepath.Join(s.work, file.name), file.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := s.claude(t, "Read "+file.name+" and describe it"); r.IsError || !strings.Contains(r.Text, file.found) {
				t.Errorf("%s: %+v", file.name, r)
			}
			calls := s.upstream.exchanges()
			if last := calls[len(calls)-1]; !strings.Contains(last.body, file.has) {
				t.Errorf("no %s in %s", file.name, last.body)
			}
		}
		s.upstream.acceptedAll(t)
	})
}

func TestToolsAreLoadedLaterWithAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		r := s.claude(t, "Search the web for model gateways", "CLAUDE_CODE_MAX_RETRIES=1")
		want := `The tool WebSearch returned: "Web search results`
		if f.name != "anthropic" {
			want = "it needs an Anthropic model" // which the model is told, and it goes on
		}
		if r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%+v", r)
		}
		s.upstream.acceptedAll(t)
	})
}

func TestCountsOfContextAreAnsweredAtOnce(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, _ provider) {
		r := s.claude(t, "/context")
		const counting = "/v1/messages/count_tokens"
		good, all := s.front.answers(200, counting), s.front.answers(0, counting)
		if r.IsError || good < 10 || good != all {
			t.Errorf("%d of %d counts were answered: %+v", good, all, r)
		}
	})
}
