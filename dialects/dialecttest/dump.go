package dialecttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// Dump writes what the common form says of a request. What the dialect keeps of a tool is added after the tool's name.
func Dump(req *llm.Request, kept func(tool string) string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("model %s, stream %v, at most %v, session %q, cache key %q, cache %s", req.Model, req.Stream, Value(req.MaxOutput),
		cmp.Or(req.Session, req.Affinity), req.CacheKey, req.Cache)
	line("temperature %v, top_p %v, top_k %v, top_logprobs %v, stop %q, user %q, %q", Value(req.Temperature), Value(req.TopP),
		Value(req.TopK), Value(req.TopLogprobs), req.Stop, req.User, req.SafetyIdentifier)
	if req.Thinking != nil {
		line("thinking %+v", *req.Thinking)
	}
	line("effort %q, no thoughts %v, one call %v, searches %d, unpriced %q",
		req.Effort, req.NoThoughts, req.SingleCall, req.Searches, req.Unpriced)
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
	if f := c.Format; f != nil {
		line("format %s %q strict %v: %s", f.Name, f.Description, Value(f.Strict), f.Schema)
	}
	for i := range c.Tools {
		tool := &c.Tools[i]
		line("%s = tool %s%s %q strict %v cache %s: %s", req.Source.Path(llm.FieldTool, tool.At), tool.Name, kept(tool.Name), tool.Description,
			Value(tool.Strict), tool.Cache, compact(tool.Parameters))
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

// compact is JSON without the space between its parts.
func compact(value jsontext.Value) jsontext.Value {
	short := slices.Clone(value)
	_ = short.Compact()
	return short
}

// Value is what a pointer leads to, or nil.
func Value[T any](p *T) any {
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
		line("%s text %q%s", at, b.Text, strings.TrimRight(" "+b.Phase, " "))
	case llm.BlockRefusal:
		line("%s refusal %q", at, b.Text)
	case llm.BlockMedia:
		line("%s media %+v", at, *b.Media)
	case llm.BlockCall:
		line("%s call %q (%q) %s %s signature %q", at, b.Call.ID, b.Call.ClientID, b.Call.Name, b.Call.Arguments, b.Call.Signature)
	case llm.BlockThought:
		line("%s thought %+v", at, *b.Thought)
	case llm.BlockHosted:
		line("%s hosted %s", at, b.Hosted)
	case llm.BlockResult:
		line("%s result of %q (%q), error %v", at, b.Result.ID, b.Result.ClientID, b.Result.IsError)
		for i := range b.Result.Content {
			dumpBlock(req, indent+"  ", &b.Result.Content[i], line)
		}
	default:
		line("%s unexpected %d", at, b.Kind)
	}
}
