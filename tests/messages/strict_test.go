package messages

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/option"
)

// TestWhatWouldBeLeftOutIsRefusedOfAStrictRequest sends every row of which something is
// left out for a provider.
func TestWhatWouldBeLeftOutIsRefusedOfAStrictRequest(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	strict, byAPI := option.WithHeader("X-Gateway-Strict-Params", "true"), byResponses()
	refusals := 0
	for _, tt := range append(requestRows(), blockRows()...) {
		for _, to := range []wanted{tt.openai, byAPI[tt.name], tt.gemini} {
			if to.ignored == "" {
				continue
			}
			refusals++
			x := call(t, p, `{"model":"`+to.model+`",`+tt.members+`}`, false, strict)
			refused(t, x.err, 400, "invalid_request_error", to.ignored)
			if sent := r.take(); len(sent) > 0 {
				t.Errorf("%s, %s: the upstream was asked: %s", tt.name, to.model, sent[0].body)
			}
		}
	}
	if refusals < 10 {
		t.Errorf("only %d rows have something that is left out", refusals)
	}
}
