package messages_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/dialecttest"
)

// message is a message as a client has it, whole or put together from a stream.
type message struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Model   string         `json:"model"`
	Content []contentBlock `json:"content"`

	StopReason   string         `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	StopDetails  jsontext.Value `json:"stop_details"`
	Container    jsontext.Value `json:"container"`
	Usage        usage          `json:"usage"`

	Early   usage         `json:"-"` // of message_start
	Failure *errorMessage `json:"-"` // that ended the stream
}

type contentBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text"`
	Citations []jsontext.Value `json:"citations"`
	Thinking  string           `json:"thinking"`
	Signature string           `json:"signature"`
	Data      string           `json:"data"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     jsontext.Value   `json:"input"`
	Caller    jsontext.Value   `json:"caller"`
	Source    jsontext.Value   `json:"source"`
}

type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Creation   *struct {
		Minutes *int64 `json:"ephemeral_5m_input_tokens"`
		Hour    *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output  *int64 `json:"output_tokens"`
	Details *struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Tools *struct {
		Searches int64 `json:"web_search_requests"`
		Fetches  int64 `json:"web_fetch_requests"`
	} `json:"server_tool_use"`
	Tier string `json:"service_tier"`
}

func (u *usage) whole() bool {
	return u.Input != nil && u.CacheWrite != nil && u.CacheRead != nil && u.Output != nil && u.Creation != nil &&
		u.Creation.Minutes != nil && u.Creation.Hour != nil && u.Details != nil && u.Details.Thinking != nil && u.Tier != "" &&
		*u.Input >= 0
}

type errorMessage struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID *string `json:"request_id"`
}

type wireEvent struct {
	Type    string       `json:"type"`
	Index   int          `json:"index"`
	Message *message     `json:"message"`
	Block   contentBlock `json:"content_block"`
	Delta   struct {
		Type      string         `json:"type"`
		Text      string         `json:"text"`
		Thinking  string         `json:"thinking"`
		Signature string         `json:"signature"`
		Input     string         `json:"partial_json"`
		Citation  jsontext.Value `json:"citation"`

		StopReason   string         `json:"stop_reason"`
		StopSequence *string        `json:"stop_sequence"`
		StopDetails  jsontext.Value `json:"stop_details"`
		Container    jsontext.Value `json:"container"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// grammar checks the order of the events of a stream.
type grammar struct {
	message
	open     int // the index of the open block; -1 = none
	input    []byte
	last     string // the type of the last delta
	previous string // the name of the last event
	begun    bool
	told     bool
	ended    bool
	pings    int
	faults   []error
}

func (g *grammar) demand(ok bool, format string, args ...any) {
	if !ok {
		g.faults = append(g.faults, fmt.Errorf(format, args...))
	}
}

// check puts a stream together. Its error names the rules of the API that it breaks.
func check(text string) (*message, error) {
	g := &grammar{open: -1}
	body, whole := strings.CutSuffix(text, "\n\n")
	g.demand(whole, "the stream does not end with an empty line: %q", text)
	for event := range strings.SplitSeq(body, "\n\n") {
		if event != "" {
			g.event(event)
		}
	}
	g.demand(g.ended || g.Failure != nil, "the stream has neither message_stop nor an error")
	return &g.message, errors.Join(g.faults...)
}

func (g *grammar) event(text string) {
	head, data, two := strings.Cut(text, "\n")
	name, named := strings.CutPrefix(head, "event: ")
	data, said := strings.CutPrefix(data, "data: ")
	g.demand(two && named && said && !strings.ContainsAny(data, "\r\n"), "not an event line and a data line: %q", text)
	g.demand(!g.ended && g.Failure == nil, "%s follows the end", name)
	if name == "error" {
		g.Failure = new(errorMessage)
		err := json.Unmarshal([]byte(data), g.Failure)
		g.demand(err == nil && g.Failure.Type == "error" && g.Failure.Error.Type != "" && g.Failure.Error.Message != "", "error: %s", data)
		return
	}
	e := wireEvent{Index: -1}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		g.demand(false, "%s: %w", data, err)
		return
	}
	g.demand(e.Type == name, "the event %s is of type %s", name, e.Type)
	g.demand(g.begun || name == "message_start" || name == "ping", "%s before message_start", name)
	if g.previous == "content_block_start" && len(g.Content) == 1 {
		g.demand(name == "ping", "%s, not a ping, follows the first content_block_start", name)
	}
	g.previous = name
	switch name {
	case "message_start":
		g.start(&e, data)
	case "ping":
		g.pings++
		g.demand(data == `{"type": "ping"}`, "ping: %s", data)
	case "content_block_start":
		g.startBlock(&e)
	case "content_block_delta":
		g.delta(&e)
	case "content_block_stop":
		g.stopBlock(&e)
	case "message_delta":
		g.demand(!g.told && g.open < 0, "message_delta comes again, or inside a block")
		g.told = true
		d := &e.Delta
		g.StopReason, g.StopSequence, g.StopDetails, g.Container = d.StopReason, d.StopSequence, d.StopDetails, d.Container
		g.demand(g.StopReason != "" && len(d.StopDetails) > 0 && len(d.Container) > 0, "message_delta lacks members: %s", data)
		if g.demand(e.Usage != nil && e.Usage.whole(), "usage is not whole: %s", data); e.Usage != nil {
			g.Usage = *e.Usage
		}
	case "message_stop":
		g.demand(g.told, "message_stop without message_delta")
		g.ended = true
	default:
		g.demand(false, "unknown event %s", name)
	}
}

func (g *grammar) start(e *wireEvent, data string) {
	g.demand(!g.begun, "message_start comes again")
	g.begun = true
	m := e.Message
	if m == nil {
		g.demand(false, "no message: %s", data)
		return
	}
	g.demand(strings.HasPrefix(m.ID, "msg_") && m.Type == "message" && m.Role == "assistant" && m.Model != "" && m.Content != nil &&
		len(m.Content) == 0 && m.StopReason == "" && len(m.StopDetails) > 0 && len(m.Container) > 0 && m.Usage.whole() && *m.Usage.Output == 1, "message_start: %s", data)
	g.message = *m
	g.Early, g.Usage = m.Usage, usage{}
}

func (g *grammar) startBlock(e *wireEvent) {
	g.demand(!g.told, "a block after message_delta")
	g.demand(g.open < 0, "block %d begins inside another", e.Index)
	g.demand(e.Index == len(g.Content), "index %d, not %d", e.Index, len(g.Content))
	g.open, g.input, g.last = len(g.Content), nil, ""
	b := e.Block
	g.demand(b.Text == "" && b.Thinking == "" && b.Signature == "", "a block begins with text: %+v", b)
	if b.Type == "tool_use" {
		g.demand(legalID(b.ID) && b.Name != "" && string(b.Input) == "{}", "tool_use begins with %+v", b)
	}
	g.Content = append(g.Content, b)
}

func legalID(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func (g *grammar) delta(e *wireEvent) {
	if g.open < 0 || e.Index != g.open {
		g.demand(false, "a delta of block %d, not of the open %d", e.Index, g.open)
		return
	}
	b, d := &g.Content[g.open], &e.Delta
	g.demand(g.last != "signature_delta", "%s follows the signature", d.Type)
	g.last = d.Type
	value := d.Text + d.Thinking + d.Signature + d.Input + string(d.Citation)
	g.demand(value != "", "%s is empty", d.Type)
	fits := map[string]string{
		"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		"input_json_delta": "tool_use",
	}
	g.demand(fits[d.Type] == b.Type, "%s inside %s", d.Type, b.Type)
	b.Text += d.Text
	b.Thinking += d.Thinking
	b.Signature += d.Signature
	g.input = append(g.input, d.Input...)
	if len(d.Citation) > 0 {
		b.Citations = append(b.Citations, d.Citation)
	}
}

func (g *grammar) stopBlock(e *wireEvent) {
	if g.open < 0 || e.Index != g.open {
		g.demand(false, "the stop of block %d, not of the open %d", e.Index, g.open)
		return
	}
	b := &g.Content[g.open]
	switch b.Type {
	case "text":
		g.demand(b.Text != "", "a text block without text")
	case "thinking":
		g.demand(b.Signature != "" && g.last == "signature_delta", "thinking without a signature at its end")
	case "tool_use":
		g.demand(len(g.input) > 0, "a call without input")
		b.Input = g.input
	}
	g.open = -1
}

// wholeOf is a message that is written whole.
func wholeOf(t testing.TB, text []byte) *message {
	t.Helper()
	m := new(message)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if m.Type != "message" || m.Role != "assistant" || m.Content == nil || !m.Usage.whole() || len(m.StopDetails) == 0 {
		t.Errorf("%s", text)
	}
	return m
}

// meaning is what a message says, without what is made anew for each.
func meaning(m *message) string {
	var b strings.Builder
	for i := range m.Content {
		c := &m.Content[i]
		input := slices.Clone(c.Input)
		if c.Type == "tool_use" && (!input.IsValid() || input.Kind() != '{' || input.Compact() != nil) {
			input = jsontext.Value("{}")
		}
		fmt.Fprintf(&b, "%s %q %q %q %q %s %s %s %s %s\n", c.Type, c.Text, c.Thinking, c.Signature, c.Data, c.ID, c.Name, input, c.Citations,
			c.Source)
	}
	stop := "null"
	if m.StopSequence != nil {
		stop = *m.StopSequence
	}
	u, err := json.Marshal(m.Usage)
	fmt.Fprintf(&b, "%s %s %s %s %s %v", m.Model, m.StopReason, stop, m.StopDetails, u, err)
	return b.String()
}

// says is what the model said in a message.
func says(m *message) (all []dialecttest.Said) {
	for i := range m.Content {
		b := &m.Content[i]
		all = append(all, dialecttest.Said{
			Text: b.Text + b.Thinking, Thought: strings.HasSuffix(b.Type, "thinking"), ID: b.ID, Name: b.Name, Arguments: string(b.Input),
		})
	}
	return all
}

// loose is what a message says of its kinds, and where it stops: a stream may have them in another order.
func loose(m *message) string {
	texts, calls, thoughts := "", "", 0
	for _, s := range says(m) {
		switch {
		case s.Name != "":
			calls += s.ID + " "
		case s.Thought:
			thoughts += len(s.Text)
		default:
			texts += s.Text
		}
	}
	return fmt.Sprint(texts, calls, thoughts, m.StopReason)
}

// kinds are the types of a message's blocks.
func kinds(m *message) string {
	var all []string
	for _, b := range m.Content {
		all = append(all, b.Type)
	}
	return strings.Join(all, " ")
}
