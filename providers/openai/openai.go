// Package openai speaks the OpenAI chat completions API to an upstream: OpenAI
// itself, or a server that copies it. Clients speak the same format, so the
// request travels on as the bytes that came, with only what must change
// rewritten; fields the gateway does not know go along.
package openai

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/chunk"
	"modelgateway/providers/upstream"
)

// Options say where the upstream is.
type Options struct {
	BaseURL       string // without the trailing /v1
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	Now           func() time.Time // for answers that do not say when they were made
}

// Provider translates for one OpenAI upstream.
type Provider struct {
	client *upstream.Client
	now    func() time.Time
}

var _ providers.Lister = (*Provider)(nil)

// New makes a provider with connections of its own.
func New(opts Options) *Provider {
	return &Provider{now: opts.Now, client: upstream.New(upstream.Options{
		Provider: catalog.OpenAI, BaseURL: opts.BaseURL,
		Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Refused:   refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
	})}
}

// Prepare rewrites the request for its upstream.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	t := translate(call)
	body, err := t.body(call.Request.Raw)
	if err != nil {
		return nil, api.Internal(err) // the door has read these bytes already
	}
	return &exchange{provider: p, call: call, body: body, ignored: t.ignored}, nil
}

type exchange struct {
	provider *Provider
	call     providers.Call
	body     [][]byte // in pieces, some of them the client's own
	ignored  []string
}

func (x *exchange) Ignored() []string { return x.ignored }

func (x *exchange) Complete(ctx context.Context, key string) (*api.ChatCompletion, error) {
	client := x.provider.client
	text, err := client.Post(ctx, key, "/v1/chat/completions", x.body...)
	if err != nil {
		return nil, err
	}
	if answer, ok := new(quick).answer(text); ok {
		return answer, nil
	}
	return x.read(text)
}

// read reads an answer in full.
func (x *exchange) read(text []byte) (*api.ChatCompletion, error) {
	client := x.provider.client
	var answer wholeAnswer
	if err := json.Unmarshal(text, &answer, lenient); err != nil {
		return nil, client.Nonsense(err)
	}
	if answer.Error != nil {
		return nil, answer.Error.refusal(http.StatusInternalServerError).Error(catalog.OpenAI)
	}
	if len(answer.Choices) == 0 {
		return nil, client.Nonsense(errNoChoices)
	}
	return x.repair(&answer.ChatCompletion), nil
}

// repair fills what compatible servers leave out.
func (x *exchange) repair(c *api.ChatCompletion) *api.ChatCompletion {
	head := x.head(c.ID, c.Model, c.Created)
	c.ID, c.Model, c.Created, c.Object = head.ID, head.Model, head.Created, api.ObjectCompletion
	if c.ID == "" {
		c.ID = chunk.NewID("chatcmpl-")
	}
	c.Usage = repairUsage(c.Usage)
	for i := range c.Choices {
		choice := &c.Choices[i]
		m := &choice.Message
		m.Role = "assistant"
		for j := range m.ToolCalls {
			repairCall(&m.ToolCalls[j])
		}
		if m.Content == nil && len(m.ToolCalls) == 0 && m.FunctionCall == nil && m.Refusal == nil {
			m.Content = new(string) // Azure leaves out a message that its filter took away
		}
		if choice.FinishReason == "" {
			choice.FinishReason = inferred(len(m.ToolCalls))
		}
	}
	return c
}

func (x *exchange) head(id, model string, created int64) chunk.Head {
	head := chunk.Head{ID: id, Model: model, Created: created}
	if head.Model == "" {
		head.Model = x.call.Model.Upstream
	}
	if head.Created <= 0 {
		head.Created = x.provider.now().Unix()
	}
	return head
}

func repairCall(c *api.ToolCall) {
	if c.ID == "" { // Google's OpenAI endpoint, older builds
		c.ID = chunk.NewID("call_")
	}
	if c.Type == "" {
		c.Type = "function"
	}
	if c.Function != nil && c.Function.Arguments == "" {
		c.Function.Arguments = "{}"
	}
}

// repairUsage makes absurd counts zero.
func repairUsage(u *api.Usage) *api.Usage {
	if u == nil {
		return nil
	}
	u.PromptTokens, u.CompletionTokens = max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	if u.TotalTokens <= 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	if d := u.PromptTokensDetails; d != nil {
		d.CachedTokens, d.CacheWriteTokens = max(d.CachedTokens, 0), max(d.CacheWriteTokens, 0)
	}
	if d := u.CompletionTokensDetails; d != nil {
		d.ReasoningTokens = max(d.ReasoningTokens, 0)
	}
	return u
}

// inferred is the finish reason of an upstream that said the answer was whole
// but not why it ended.
func inferred(calls int) string {
	if calls > 0 {
		return api.FinishToolCalls
	}
	return api.FinishStop
}

// Models asks GET /v1/models and keeps what its ids say are chat models: the
// list does not say what a model is for.
func (p *Provider) Models(ctx context.Context, key string) ([]providers.Listed, error) {
	text, err := p.client.Get(ctx, key, "/v1/models")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Created int64  `json:"created"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list, lenient); err != nil {
		return nil, p.client.Nonsense(err)
	}
	var models []providers.Listed
	for _, m := range list.Data {
		if chats(m.ID) {
			models = append(models, providers.Listed{ID: m.ID, Created: m.Created})
		}
	}
	return models, nil
}

// otherKinds are what ids of models say that do not answer chat completions.
var otherKinds = []string{
	"embedding", "whisper", "tts", "dall-e", "image", "moderation", "realtime", "transcribe",
	"davinci", "babbage", "instruct", "sora", "computer-use", "deep-research", "codex", "-pro", "audio",
}

func chats(id string) bool {
	if id == "" {
		return false
	}
	for _, kind := range otherKinds {
		if strings.Contains(id, kind) {
			return false
		}
	}
	return true
}

// lenient lets pass what an upstream may get wrong without harm.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(readCount)),
)

// readCount reads a count or a time that some compatible servers write as 3.0
// or "3"; what makes no sense is 0, not the end of a good answer.
func readCount(dec *jsontext.Decoder, into *int64) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := strings.Trim(string(value), `"`)
	*into = 0
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*into = n
	} else if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<53 {
		*into = int64(x)
	}
	return nil
}
