package tokens

import (
	"testing"

	"modelgateway/dialects/messages"
)

// What Anthropic has counted, of recorded calls and counts of claude-haiku-4-5-20251001 and
// claude-sonnet-4-5 (2026).
func TestEstimatesForClaudeAreNotTooSmall(t *testing.T) {
	e := theEstimator()
	const capital = `"messages":[{"role":"user","content":[{"type":"text","text":"What is the capital of France?"}]}]`
	for _, tt := range []struct {
		body    string
		counted int64
	}{
		{`"messages":[{"role":"user","content":[{"type":"text","text":"The quick brown fox jumps over the lazydog."}]}]`, 19},
		{capital, 14},
		{capital + `,"thinking":{"type":"enabled","budget_tokens":2048}`, 43},
		{`"messages":[{"role":"user","content":[{"type":"text","text":"Two names for a pet pelican"}]}],` +
			`"tools":[{"name":"pelican_name_generator","description":"","input_schema":{"properties":{},"type":"object"}}]`, 542},
		{`"messages":[{"role":"user","content":[{"type":"text","text":"Use the fixed_version tool. Then tell me the version and make one short ` +
			`joke about it. Think about it first."}]}],"tools":[{"name":"fixed_version","description":"Return a fixed test version string",` +
			`"input_schema":{"properties":{},"type":"object"}}],"thinking":{"type":"enabled","budget_tokens":1024,"display":"summarized"}`, 598},
	} {
		r, err := messages.DecodeCount(nil, []byte(`{"model":"m",`+tt.body+`}`))
		if err != nil {
			t.Fatal(err)
		}
		n, err := e.AtLeast(r, true)
		if err != nil || n < tt.counted || n > tt.counted*3/2 {
			t.Errorf("%s: %d, not %d, %v", tt.body, n, tt.counted, err)
		}
		if plain, err := e.Prompt(r); err != nil || plain > n {
			t.Errorf("%s: %d without what is Claude's, %v", tt.body, plain, err)
		}
	}
}
