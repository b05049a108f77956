package messages

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
)

var update = flag.Bool("update", false, "write the golden files")

// decoded is a request whose decoding must succeed.
func decoded(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := Dialect{}.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return req
}

// Requests of real clients, with shortened texts in words of the project (tests/captures), and their conversations.
func TestRequestsOfRealClients(t *testing.T) {
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decode := Dialect{}.Decode
		if strings.Contains(file, "count") {
			decode = Dialect{}.DecodeCount
		}
		req, err := decode(nil, body)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got := dump(req)
		golden := strings.TrimSuffix(strings.Replace(file, "requests", "conversations", 1), ".json") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
}

// dump writes what the common form says of a request.
func dump(req *llm.Request) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("model %s, stream %v, max_tokens %v, session %q", req.Model, req.Stream, value(req.MaxOutput), req.Session)
	line("temperature %v, top_p %v, top_k %v, stop %q", value(req.Temperature), value(req.TopP), value(req.TopK), req.Stop)
	if req.Thinking != nil {
		line("thinking %+v", *req.Thinking)
	}
	line("effort %q, no thoughts %v, one call %v", req.Effort, req.NoThoughts, req.SingleCall)
	s := req.Source.Size()
	line("%d messages, %d tools, shaped %v, %d media, images %q, opaque %v, hosted %v",
		s.Messages, s.Tools, s.Shaped, s.Media, s.Images, s.Opaque, s.Hosted)
	c, err := req.Source.Conversation()
	if err != nil {
		e := api.AsError(err)
		line("%s at %s: %s", e.Code, e.Param, e.Message)
		return b.String()
	}
	line("ignored %q", req.Source.Ignored(nil))
	if c.Format != nil {
		line("format %s", c.Format.Schema)
	}
	for i := range c.Tools {
		tool := &c.Tools[i]
		line("tool %s %q strict %v cache %s: %s", tool.Name, tool.Description, value(tool.Strict), tool.Cache, tool.Parameters)
	}
	if c.Choice != nil {
		line("choice %+v", *c.Choice)
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		line("%s, in place %v", [...]string{"user", "assistant", "instructions"}[m.Role], m.InPlace)
		for j := range m.Blocks {
			dumpBlock(req, "  ", &m.Blocks[j], line)
		}
	}
	return b.String()
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func dumpBlock(req *llm.Request, indent string, b *llm.Block, line func(string, ...any)) {
	at := indent + req.Source.Path(llm.FieldPart, b.At)
	if b.Cache != nil {
		at += " cached"
	}
	switch b.Kind {
	case llm.BlockText:
		line("%s text %q", at, b.Text)
	case llm.BlockMedia:
		line("%s media %+v", at, *b.Media)
	case llm.BlockCall:
		line("%s call %q (%q) %s %s signature %q", at, b.Call.ID, b.Call.ClientID, b.Call.Name, b.Call.Arguments, b.Call.Signature)
	case llm.BlockThought:
		line("%s thought %+v", at, *b.Thought)
	case llm.BlockHosted:
		line("%s hosted by %s %s", at, b.HostedBy, b.Hosted)
	case llm.BlockResult:
		line("%s result of %q (%q), error %v", at, b.Result.ID, b.Result.ClientID, b.Result.IsError)
		for i := range b.Result.Content {
			dumpBlock(req, indent+"  ", &b.Result.Content[i], line)
		}
	default:
		line("%s unexpected %d", at, b.Kind)
	}
}
