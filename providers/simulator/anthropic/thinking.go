package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// Families whose thinking defaults differ from those of the newest: they do not
// think unless they are asked to, and do not hide what they think.
// Source: https://docs.claude.com/en/docs/build-with-claude/extended-thinking
var (
	showThinking = []string{"claude-3-", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4-5"}
	hideThinking = []string{"claude-opus-4-7", "claude-opus-4-8"} // among those above
	thinkUnasked = []string{"claude-opus-5", "claude-sonnet-5", "claude-fable-", "claude-mythos-"}
)

func isOf(families []string, model string) bool {
	return slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(model, family) })
}

// Thinks reports whether an answer begins with thinking.
func (q *Request) Thinks() bool {
	if q.Thinking == nil {
		return isOf(thinkUnasked, q.Model)
	}
	return q.Thinking.Type != "disabled"
}

// shown is the thinking as the client sees it, empty where it is hidden.
func (q *Request) shown(thinking string) string {
	visible := isOf(showThinking, q.Model) && !isOf(hideThinking, q.Model)
	if q.Thinking != nil && q.Thinking.Display != "" {
		visible = q.Thinking.Display == "summarized"
	}
	if !visible {
		return ""
	}
	return thinking
}

// SignatureMark begins what Sign encodes.
const SignatureMark = "simulated signature "

// Sign is the signature of a thinking block: a checksum of the thinking as it was
// shown.
func Sign(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%x", SignatureMark, sum))
}
