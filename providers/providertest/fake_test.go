package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"

	"modelgateway/providers/sse"
)

// fake is a small provider for OpenAI's format, honest but for its flaws.
type fake struct {
	url string
	flaws
}

// flaws are the ways in which providers have been wrong.
type flaws struct {
	dropsFragment   bool // loses the third fragment of the text
	dropsArguments  bool // loses a tool call's last fragment
	inventsStop     bool // takes any end of the body for the end of the answer
	losesUsage      bool
	parsesReads     bool // takes what one read returns for one event
	repeatsRole     bool
	changesID       bool
	finishesTwice   bool
	goesOnAfter     bool // a fragment follows the finish
	swallowsErrors  bool // ends at an error event as if it were the end
	passes401       bool // says that the caller's credentials are wrong
	foreignErrors   bool // returns errors that are not for clients
	keepsWorking    bool // does not end the upstream call
	takesAnyAnswer  bool // takes an answer that is no JSON for an empty one
	emptyArguments  bool // leaves a call without arguments as it is
	nullsNoContent  bool // content "" beside tool calls
	guessesPartials bool // sends the half of an event that the end of the body left
}

func (f fake) Abilities() providers.Abilities { return providers.Abilities{} }

func (f fake) Prepare(call providers.Call) (providers.Exchange, error) {
	return fakeExchange{fake: f, body: call.Request.Raw, stream: call.Request.Stream}, nil
}

type fakeExchange struct {
	fake
	body   []byte
	stream bool
}

func (x fakeExchange) Properties() providers.Properties { return providers.Properties{} }

func (x fakeExchange) send(ctx context.Context) (*http.Response, error) {
	if x.keepsWorking {
		ctx = context.WithoutCancel(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, x.failed(ctx, http.StatusBadGateway)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	status := resp.StatusCode
	if status > 499 || status == 401 && !x.passes401 || status == 403 {
		status = http.StatusBadGateway
	}
	return nil, x.failed(ctx, status)
}

func (x fakeExchange) failed(ctx context.Context, status int) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case x.foreignErrors:
		return errors.New("something broke")
	default:
		return &api.Error{Status: status, Type: api.TypeAPI, Code: api.CodeProviderError, Message: "it failed"}
	}
}

func (x fakeExchange) Open(ctx context.Context, _ string) (llm.Stream, error) {
	if x.stream {
		return x.events(ctx)
	}
	c, err := x.complete(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return func(yield func(*llm.Event, error) bool) {
		yield(&llm.Event{Kind: llm.EventAnswer, Raw: text, RawDialect: llm.Chat, Usage: c.Usage.Common()}, nil)
	}, nil
}

func (x fakeExchange) complete(ctx context.Context) (*chat.Completion, error) {
	resp, err := x.send(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, x.failed(ctx, http.StatusBadGateway)
	}
	var c chat.Completion
	if err := json.Unmarshal(text, &c); err != nil {
		if !x.takesAnyAnswer {
			return nil, x.failed(ctx, http.StatusBadGateway)
		}
		c = chat.Completion{ID: "x", Object: chat.ObjectCompletion, Model: "m", Choices: []chat.Choice{
			{Message: chat.Answer{Role: "assistant", Content: new(string)}, FinishReason: "stop"},
		}}
	}
	for i := range c.Choices {
		m := &c.Choices[i].Message
		if x.nullsNoContent && m.Content == nil {
			m.Content = new(string)
		}
		for _, call := range m.ToolCalls {
			if call.Function.Arguments == "" && !x.emptyArguments {
				call.Function.Arguments = "{}"
			}
		}
	}
	return &c, nil
}

func (x fakeExchange) events(ctx context.Context) (llm.Stream, error) {
	resp, err := x.send(ctx)
	if err != nil {
		return nil, err
	}
	var next func() ([]byte, error)
	if events := sse.NewReader(resp.Body); x.parsesReads {
		next = reads(resp.Body)
	} else {
		next = func() ([]byte, error) { event, err := events.Next(); return event.Data, err }
	}
	first, err := next()
	if err != nil || bytes.HasPrefix(first, []byte(`{"error"`)) {
		resp.Body.Close()
		return nil, x.failed(ctx, http.StatusBadGateway)
	}
	return func(yieldEvent func(*llm.Event, error) bool) {
		yield := func(c *chat.Chunk, err error) bool {
			if c == nil {
				return yieldEvent(nil, err)
			}
			text, _ := json.Marshal(c)
			return yieldEvent(&llm.Event{Raw: text, RawDialect: llm.Chat, Usage: c.Usage.Common()}, err)
		}
		if !x.keepsWorking {
			defer resp.Body.Close()
		}
		machine := fakeMachine{x: x, yield: yield, out: chat.NewEmitter(yield, chat.Head{})}
		for data, err := first, error(nil); ; data, err = next() {
			if done := machine.event(ctx, data, err); done {
				return
			}
		}
	}, nil
}

// reads yields the first data line of what each read returns.
func reads(body io.Reader) func() ([]byte, error) {
	return func() ([]byte, error) {
		buf := make([]byte, 64<<10)
		n, err := body.Read(buf)
		_, data, _ := strings.Cut(string(buf[:n]), "data: ")
		data, _, _ = strings.Cut(data, "\n")
		if n == 0 {
			return nil, err
		}
		return []byte(data), nil
	}
}

type fakeMachine struct {
	x         fakeExchange
	yield     func(*chat.Chunk, error) bool
	out       *chat.Emitter
	usage     *chat.Usage
	fragments int
	calls     int
	finished  bool
}

func (m *fakeMachine) event(ctx context.Context, data []byte, err error) (done bool) {
	end := string(data) == "[DONE]"
	var c chat.Chunk
	switch {
	case err == io.EOF && m.x.inventsStop:
		end = true
	case err != nil:
		m.out.Fail(m.x.failed(ctx, http.StatusBadGateway))
		return true
	case bytes.HasPrefix(data, []byte(`{"error"`)):
		if end = m.x.swallowsErrors; !end {
			m.out.Fail(m.x.failed(ctx, http.StatusBadGateway))
			return true
		}
	case !end:
		if err := json.Unmarshal(data, &c); err != nil {
			return m.broken(ctx, data)
		}
	}
	if end {
		m.end()
		return true
	}
	return !m.chunk(&c)
}

func (m *fakeMachine) broken(ctx context.Context, data []byte) bool {
	if _, text, ok := strings.Cut(string(data), `"content":"`); ok && m.x.guessesPartials && len(text) > 2 && m.out.Started() {
		m.out.Text(0, text)
	}
	m.out.Fail(m.x.failed(ctx, http.StatusBadGateway))
	return true
}

func (m *fakeMachine) chunk(c *chat.Chunk) bool {
	if !m.out.Started() {
		m.out = chat.NewEmitter(m.yield, chat.Head{ID: c.ID, Model: c.Model, Created: c.Created})
	}
	if m.x.changesID {
		m.out.Chunk().ID += "x"
	}
	if c.Usage != nil && !m.x.losesUsage {
		m.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if !m.choice(choice) {
			return false
		}
	}
	return true
}

func (m *fakeMachine) choice(c chat.ChunkChoice) bool {
	if text := c.Delta.Content; text != nil && *text != "" {
		if m.fragments++; m.fragments == 3 && m.x.dropsFragment {
			return true
		}
	}
	for i, call := range c.Delta.ToolCalls {
		if m.calls++; m.calls == 3 && m.x.dropsArguments {
			c.Delta.ToolCalls[i].Function.Arguments = ""
		}
		if call.Function.Name != "" && !m.out.Begin(c.Index) {
			return false
		}
	}
	if !m.out.Begin(c.Index) || !m.out.Delta(c.Index, c.Delta) {
		return false
	}
	if m.x.repeatsRole && c.FinishReason == nil {
		return m.yield(m.raw(chat.Delta{Role: "assistant"}, nil), nil)
	}
	if c.FinishReason == nil {
		return true
	}
	m.finished = true
	if m.x.finishesTwice {
		for range 2 {
			if !m.yield(m.raw(chat.Delta{}, c.FinishReason), nil) {
				return false
			}
		}
		return true
	}
	if !m.out.Finish(c.Index, *c.FinishReason) {
		return false
	}
	late := "late"
	return !m.x.goesOnAfter || m.yield(m.raw(chat.Delta{Content: &late}, nil), nil)
}

// raw is a chunk past the emitter, which keeps its users from most flaws.
func (m *fakeMachine) raw(d chat.Delta, finish *string) *chat.Chunk {
	head := m.out.Chunk()
	return &chat.Chunk{
		ID: head.ID, Object: head.Object, Model: head.Model, Created: head.Created,
		Choices: []chat.ChunkChoice{{Delta: d, FinishReason: finish}},
	}
}

func (m *fakeMachine) end() {
	if !m.finished {
		m.out.Finish(0, "stop")
	}
	m.out.Usage(m.usage)
}

func fakeModel(id string) *catalog.Model { return &catalog.Model{ID: id, Upstream: id} }
