package messages

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"modelgateway/tests/gatewaytest"
)

// official is Anthropic's Go SDK as a client of the gateway.
func official(p *gatewaytest.Program) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(p.URL), option.WithAPIKey("sk-dummy"), option.WithHTTPClient(p.Client),
		option.WithMaxRetries(0))
}

// exchange is a call of the SDK.
type exchange struct {
	message *anthropic.Message
	header  http.Header
	err     error
}

// call sends a request with the SDK: its body is this one, and the answer is read as the
// SDK reads it.
func call(t testing.TB, p *gatewaytest.Program, body string, streamed bool, opts ...option.RequestOption) exchange {
	t.Helper()
	client := official(p)
	params := param.Override[anthropic.MessageNewParams](json.RawMessage(body))
	var response *http.Response
	opts = append(opts, option.WithResponseInto(&response))
	var x exchange
	if streamed {
		x.message, x.err = accumulated(t, client.Messages.NewStreaming(t.Context(), params, opts...))
	} else {
		x.message, x.err = client.Messages.New(t.Context(), params, opts...)
	}
	if response != nil {
		x.header = response.Header
	}
	return x
}

// stream is a stream of the SDK.
type stream interface {
	Next() bool
	Current() anthropic.MessageStreamEventUnion
	Err() error
	Close() error
}

// accumulated is the message that the SDK puts together. It fails the test for events that
// are not in the order of the API.
func accumulated(t testing.TB, s stream) (*anthropic.Message, error) {
	t.Helper()
	defer func() { _ = s.Close() }()
	var message anthropic.Message
	var order grammar
	for s.Next() {
		event := s.Current()
		if fault := order.add(event.RawJSON()); fault != "" {
			t.Errorf("%s: %s", fault, event.RawJSON())
		}
		if err := message.Accumulate(event); err != nil {
			t.Errorf("accumulate %s: %v", event.RawJSON(), err)
		}
	}
	if s.Err() == nil && !order.stopped {
		t.Errorf("the stream ended without message_stop: %v", order.seen)
	}
	return &message, s.Err()
}

// grammar is the order of the events of a stream.
type grammar struct {
	seen             []string
	started, stopped bool
	ended            bool // message_delta has come
	next             int  // index of the next block
	open             string
	filled           bool
}

func (g *grammar) add(raw string) (fault string) {
	var e struct {
		Type  string
		Index int
		Block struct{ Type string } `json:"content_block"`
		Delta struct{ Type, Signature string }
	}
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		return err.Error()
	}
	g.seen = append(g.seen, e.Type)
	kinds := map[string]string{
		"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		"input_json_delta": "tool_use",
	}
	switch {
	case g.stopped:
		return "an event behind message_stop"
	case e.Type == "ping":
	case e.Type == "message_start" && !g.started && len(g.seen) == 1:
		g.started = true
	case e.Type == "content_block_start" && g.started && !g.ended && g.open == "" && e.Index == g.next:
		g.open = e.Block.Type
	case e.Type == "content_block_delta" && g.open != "" && e.Index == g.next && kinds[e.Delta.Type] == g.open:
		g.filled = true
		if e.Delta.Type == "signature_delta" && e.Delta.Signature == "" {
			return "an empty signature"
		}
	case e.Type == "content_block_stop" && g.open != "" && e.Index == g.next:
		if !g.filled && g.open != "redacted_thinking" {
			return "a block without content"
		}
		g.open, g.filled = "", false
		g.next++
	case e.Type == "message_delta" && g.started && !g.ended && g.open == "":
		g.ended = true
	case e.Type == "message_stop" && g.ended:
		g.stopped = true
	default:
		return "an event out of order"
	}
	return ""
}
