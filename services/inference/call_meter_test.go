package inference

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/services/pool"
)

// keyedStream is keyed with a stream.
func keyedStream(model string, limits models.Limits) Input {
	ask := keyed(model, limits)
	ask.Request.Stream = true
	return ask
}

// The prompt of keyed is one message: 3 and 3, and the words "user" and "hi".
const keyedPrompt = 8

func TestMissingUsageIsEstimated(t *testing.T) {
	details := usedUp(0, 30)
	details.HasReasoning, details.Reasoning = true, 20
	for name, tt := range map[string]struct {
		usage         *llm.Usage
		input, output int64
		estimated     bool
	}{
		"nothing":                  {nil, keyedPrompt, 2, true},
		"zeros":                    {usedUp(0, 0), keyedPrompt, 2, true},
		"less than nothing":        {usedUp(-5, -5), keyedPrompt, 2, true},
		"the answer only":          {details, keyedPrompt, 30, true},
		"the prompt only":          {usedUp(70, 0), 70, 0, false}, // an answer can be empty
		"the prompt, and nonsense": {usedUp(70, -30), 70, 0, false},
		"all":                      {usedUp(70, 30), 70, 30, false},
	} {
		for _, streams := range []bool{false, true} {
			c := newFixture(t, answering(catalog.OpenAI, tt.usage))
			ask := keyed(gpt, ofMonth(microDollars))
			ask.Request.Stream = streams
			r, err := c.made(t, ask)
			if err != nil || r.InputTokens != tt.input || r.OutputTokens != tt.output || r.Estimated != tt.estimated ||
				r.Cost != 30*tt.input+60*tt.output {
				t.Errorf("%s (stream: %v): %+v, %v", name, streams, r, err)
			}
		}
	}
}

func TestClientGetsTheUsageThatTheProviderDidNotReport(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, nil))
	call, err := c.chat.Admit(t.Context(), keyed(gpt, models.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := whole(call.Open(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := chat.AppendAnswer(nil, keyed(gpt, models.Limits{}).Request, answer)
	if err != nil || !strings.Contains(string(text), `"usage":{`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAbsurdUsageIsCut(t *testing.T) {
	for _, usage := range []*llm.Usage{usedUp(1<<62, 1<<62), usedUp(math.MaxInt64, math.MaxInt64), usedUp(1, math.MaxInt64)} {
		usage.HasCache, usage.Cached, usage.CacheWrite, usage.CacheWriteHour = true, math.MaxInt64, math.MaxInt64, math.MaxInt64
		usage.HasReasoning, usage.Reasoning = true, math.MaxInt64
		c := newFixture(t, answering(catalog.Gemini, usage))
		var limits models.Limits
		limits.TPMLimit = 1_000_000
		r, err := c.made(t, keyed("dear-g", limits))
		if err != nil || r.OutputTokens != 1<<40 || r.InputTokens != min(usage.Input, 1<<40) || r.Cost != 1_000_000_000_000_000 ||
			r.CachedTokens != r.InputTokens || r.CacheWriteTokens != 0 || r.ReasoningTokens != r.OutputTokens {
			t.Errorf("%+v, %v", r, err)
		}
		c.idle(t, r.InputTokens+r.OutputTokens)
	}
}

func TestUsageOfMoreThanTwiceTheUpperBoundIsBookedAsTheBound(t *testing.T) {
	const price = 1_000_000 // micro-dollars a token of input, of which the call can have 334; twice as much for one of 100 of output
	for output, absurd := range map[int64]bool{100: false, 500: false, 600: true, 9e18: true} {
		c := newFixture(t, answering(catalog.Gemini, usedUp(1, output)))
		r, err := c.made(t, keyed("dear-g", ofMonth(10_000*microDollars)))
		if err != nil || r.Estimated != absurd || !absurd && r.Cost != (1+2*output)*price ||
			absurd && (r.Cost < 500*price || r.Cost > 550*price || r.OutputTokens != 100) {
			t.Errorf("%d tokens: %+v, %v", output, r, err)
		}
		if logged := strings.Contains(c.log.String(), "more than twice the usage"); logged != absurd {
			t.Errorf("%d tokens: %s", output, c.log)
		}
		if logged := strings.Contains(c.log.String(), "cost more than the upper bound"); logged != (output == 500) || logged &&
			!strings.Contains(c.log.String(), " provider=gemini model=dear-g cost_micro_usd=1001000000 bound_micro_usd=") {
			t.Errorf("%d tokens: %s", output, c.log)
		}
		c.left(t, 10_000*microDollars-r.Cost, 10_000*microDollars)
	}
}

func TestDetailsOfUsageNeverExceedTheTotal(t *testing.T) {
	usage := usedUp(100, 10)
	usage.HasCache, usage.Cached, usage.CacheWrite = true, 60, 60
	usage.HasReasoning, usage.Reasoning = true, 11
	c := newFixture(t, answering(catalog.OpenAI, usage))
	if r, err := c.made(t, keyed(gpt, models.Limits{})); err != nil || r.CachedTokens != 60 || r.CacheWriteTokens != 40 ||
		r.ReasoningTokens != 10 {
		t.Errorf("%+v, %v", r, err)
	}
	usage.HasCache, usage.Cached, usage.CacheWrite, usage.CacheWriteHour = true, -1, -1, -1
	usage.HasReasoning, usage.Reasoning = true, -1
	if r, err := c.made(t, keyed(gpt, models.Limits{})); err != nil || r.CachedTokens != 0 || r.CacheWriteTokens != 0 ||
		r.ReasoningTokens != 0 || r.Cost != 100*30+10*60 {
		t.Errorf("%+v, %v", r, err)
	}
}

// countedUsage is a counter with a fixed result.
type countedUsage struct{ usage *llm.Usage }

func (c countedUsage) Counted() *llm.Usage { return c.usage }

func TestBrokenStreamIsBookedWithTheUsageSoFar(t *testing.T) {
	both := usedUp(70, 30)
	both.HasCache, both.Cached = true, 50
	for name, tt := range map[string]struct {
		counted       *llm.Usage
		input, output int64
		estimated     bool
	}{
		"nothing":            {nil, keyedPrompt, 2, true},
		"the prompt":         {usedUp(70, 0), 70, 2, true},
		"the answer so far":  {usedUp(0, 30), keyedPrompt, 30, true},
		"both":               {both, 70, 30, false},
		"less than nothing":  {usedUp(-1, -1), keyedPrompt, 2, true},
		"an answer so small": {usedUp(70, 1), 70, 1, false},
	} {
		for _, left := range []bool{false, true} {
			p := answering(catalog.OpenAI, nil)
			p.stream = func(context.Context) (llm.Stream, error) {
				return func(yield func(*llm.Event, error) bool) {
					for _, text := range []string{"hello", " world"} {
						chunk := chunkOf(text)
						chunk.Head = &llm.Head{Counter: countedUsage{tt.counted}}
						if !yield(chunk, nil) {
							return
						}
					}
					yield(nil, providerFault(0))
				}, nil
			}
			c := newFixture(t, p)
			call, err := c.chat.Admit(t.Context(), keyedStream(gpt, ofMonth(microDollars)))
			if err != nil {
				t.Fatal(err)
			}
			stream, err := call.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			call.Sent()
			heard := 0
			for _, err = range stream {
				if heard++; left && heard == 2 {
					err = ErrClientGone
					break
				}
			}
			r := call.End(t.Context(), err)
			if r.InputTokens != tt.input || r.OutputTokens != tt.output || r.Estimated != tt.estimated || r.Status != 200 ||
				(r.Outcome == models.OutcomeClient) != left {
				t.Errorf("%s (left: %v): %+v", name, left, r)
			}
			if call.output.Len() != 0 {
				t.Errorf("%s: the room of its text is not given back", name)
			}
			allIdle(t, c.chat.Router())
		}
	}
}

// The row has both the requested model and its successor.
func TestSuccessorIsBookedAsTheAnsweringModel(t *testing.T) {
	c := newFixture(t, answering(catalog.Anthropic, usedUp(70, 30)))
	c.chat.Router().Redirect, c.chat.DefaultPrice = true, oneAndTwo
	c.chat.Router().Now = (&clock{november}).now
	r, err := c.made(t, keyed(retired, ofMonth(10*microDollars)))
	if err != nil || r.Served != "claude-sonnet-5" || r.Model != retired || !r.Priced || r.Cost != 2*70+10*30 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTextAfterTheUsageIsNotCounted(t *testing.T) {
	p := answering(catalog.OpenAI, nil)
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			middle := chunkOf(" world")
			middle.Usage, middle.Head = usedUp(70, 30), &llm.Head{Counter: countedUsage{usedUp(1, 1)}}
			_ = yield(chunkOf("hello"), nil) && yield(middle, nil) && yield(chunkOf(", and more"), nil)
			yield(nil, providerFault(0))
		}, nil
	}
	c := newFixture(t, p)
	if r, _ := c.made(t, keyedStream(gpt, models.Limits{})); r.InputTokens != 70 || r.OutputTokens != 30 || r.Estimated ||
		r.Outcome != models.OutcomeFailed {
		t.Errorf("%+v", r)
	}
}

// A call that fails before its answer begins is charged when the provider may have
// worked on it.
func TestFailedCallIsChargedWhenItsProviderMayHaveWorked(t *testing.T) {
	worked := func(e *providers.Refusal) { e.Worked = true }
	for name, tt := range map[string]struct {
		err  error
		paid bool
	}{
		"it refused":              {providerFault(400), false},
		"it failed":               {providerFault(500), false},
		"it had no room":          {providerFault(429), false},
		"no connection":           {unreached(502), false},
		"it was silent":           {providerFault(0, worked), true},
		"the client left":         {context.Canceled, true},
		"our own fault":           {api.Internal(nil), false},
		"its whole answer broke":  {providerFault(200, worked), true},
		"its whole answer was no": {providerFault(200), false},
	} {
		for _, streams := range []bool{false, true} {
			ctx, leave := context.WithCancel(t.Context())
			p := answering(catalog.OpenAI, nil).fail(tt.err)
			if name == "the client left" {
				p.complete = func(context.Context) (*llm.Answer, error) { leave(); return nil, tt.err }
				p.stream = func(context.Context) (llm.Stream, error) { leave(); return nil, tt.err }
			}
			c := newFixture(t, p)
			ask := keyed(gpt, ofMonth(microDollars))
			ask.Request.Stream = streams
			call, err := c.chat.Admit(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			if streams {
				_, err = whole(call.Open(ctx))
			} else {
				_, err = whole(call.Open(ctx))
			}
			r := call.End(ctx, err)
			hidden := name == "the client left" && !streams // a whole answer may have come to any length
			if paid := r.InputTokens > 0; err == nil || paid != tt.paid || r.Estimated != tt.paid ||
				r.Cost != 30*r.InputTokens+60*r.OutputTokens || paid && r.InputTokens != keyedPrompt || (r.OutputTokens != 0) != hidden ||
				r.Attempts != 1 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			leave()
		}
	}
}

func TestFailedFallbackIsChargedAtItsOwnPrice(t *testing.T) {
	late := unreached(504)
	late.Worked = true
	c := newFixture(t, answering(catalog.OpenAI, nil).fail(providerFault(404)), answering(catalog.Anthropic, nil).fail(late))
	c.chat.Router().Fallbacks = map[string][]string{gpt: {haiku}}
	r, err := c.made(t, keyed(gpt, ofMonth(microDollars)))
	if err == nil || r.Served != haiku || r.Model != gpt || r.Attempts != 2 ||
		r.Cost != keyedPrompt+5*r.OutputTokens || r.OutputTokens == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// No provider works on the request during a pause.
func TestClientThatLeavesDuringAPauseIsNotCharged(t *testing.T) {
	stopping := &api.Error{Status: 503, Type: api.TypeAPI, Code: api.CodeServiceUnavailable}
	for _, cause := range []error{context.Canceled, stopping} {
		c := newFixture(t, answering(catalog.OpenAI, nil).fail(providerFault(500, retryAfter(3*time.Second))))
		c.chat.Router().Retries = 1
		ctx, leave := context.WithCancelCause(t.Context())
		call, err := c.chat.Admit(t.Context(), keyed(gpt, ofMonth(microDollars)))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, func() { leave(cause) })
		_, err = whole(call.Open(ctx))
		r := call.End(ctx, err)
		if err == nil || r.Attempts != 1 || r.InputTokens != 0 || r.Cost != 0 || r.Estimated || r.Outcome == models.OutcomeFailed {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestTimesOfACallAreMeasuredWithItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, calls := answering(catalog.OpenAI, usedUp(1, 1)), 0
		answer := p.complete
		p.complete = func(ctx context.Context) (*llm.Answer, error) {
			if calls++; calls == 1 {
				time.Sleep(2 * time.Second)
				return nil, providerFault(500, retryAfter(3*time.Second))
			}
			time.Sleep(5 * time.Second)
			return answer(ctx)
		}
		chat := serving(t, p)
		chat.Router().Retries = 2
		began := time.Now()
		ask := keyed(gpt, models.Limits{})
		ask.Began, ask.BodyTime = began, 700*time.Millisecond
		time.Sleep(time.Second) // 700 ms of it the client's
		call, err := chat.Admit(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := whole(call.Open(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		call.Sent()
		time.Sleep(time.Second)
		r := call.End(t.Context(), nil)
		// 1 + 2 + 3 + 5 + 1 until it is sent, and one more to the end; our own are 0.3 and 1
		if r.FirstTokenUS != 12_000_000 || r.DurationUS != 13_000_000 || r.OverheadUS != 1_300_000 || r.Attempts != 2 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTimesOfAStreamAreMeasuredWithItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := answering(catalog.OpenAI, nil)
		p.stream = func(context.Context) (llm.Stream, error) {
			time.Sleep(2 * time.Second)
			return func(yield func(*llm.Event, error) bool) {
				role := &llm.Event{Kind: llm.EventBegin}
				for _, chunk := range []*llm.Event{role, chunkOf("one"), chunkOf("two")} {
					if chunk != role {
						time.Sleep(3 * time.Second)
					}
					if !yield(chunk, nil) {
						return
					}
				}
			}, nil
		}
		chat := serving(t, p)
		call, err := chat.Admit(t.Context(), keyedStream(gpt, models.Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := call.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // until it is read
		call.Sent()
		readAll(stream)
		r := call.End(t.Context(), nil)
		if r.FirstTokenUS != 5_500_000 || r.DurationUS != 8_500_000 || r.OverheadUS != 500_000 {
			t.Errorf("%+v", r)
		}
	})
}

func TestStreamOfPicturesHasAFirstTokenTime(t *testing.T) {
	p := answering(catalog.Gemini, nil)
	p.stream = func(context.Context) (llm.Stream, error) {
		return func(yield func(*llm.Event, error) bool) {
			yield(&llm.Event{Kind: llm.EventMedia, Media: &llm.Media{}}, nil)
		}, nil
	}
	if r, err := newFixture(t, p).made(t, keyedStream(flash, models.Limits{})); err != nil || r.FirstTokenUS == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHedgedCallsAreCountedAsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := answering(catalog.OpenAI, usedUp(1, 1))
		answer := p.complete
		var calls atomic.Int64
		p.complete = func(ctx context.Context) (*llm.Answer, error) {
			if calls.Add(1) == 1 {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			time.Sleep(time.Second)
			return answer(ctx)
		}
		chat := serving(t, p)
		chat.Router().HedgeAfter = 2 * time.Second
		call, err := chat.Admit(t.Context(), keyed(gpt, models.Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := whole(call.Open(t.Context())); err != nil {
			t.Fatal(err)
		}
		if r := call.End(t.Context(), nil); r.Attempts != 2 || calls.Load() != 2 {
			t.Errorf("%+v after %d calls", r, calls.Load())
		}
	})
}

// Each of the three real providers, whose stream is cut in its middle.
func TestCutStreamIsBookedWithTheProvidersUsage(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	for _, tt := range []struct {
		model, first, more string
		input, cached      int64
		output             int64
		estimated          bool
	}{
		{
			gpt, event(`{"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4","choices":[{"index":0,"delta":{"role":"assistant",` +
				`"content":"hello"},"finish_reason":null}]}`),
			event(`{"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4","choices":[{"index":0,"delta":{"content":" world"},` +
				`"finish_reason":null}]}`),
			8, 0, 2, true, // "user" and "hi"
		},
		{
			haiku, "event: message_start\n" + event(`{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"m",`+
				`"content":[],"usage":{"input_tokens":50,"cache_read_input_tokens":20,"cache_creation_input_tokens":0,"output_tokens":9}}}`) +
				"event: content_block_start\n" + event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			"event: content_block_delta\n" + event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello world"}}`),
			70, 20, 2, true,
		},
		{
			flash, event(`{"candidates":[{"content":{"parts":[{"text":"hello"}],"role":"model"},"index":0}],` +
				`"usageMetadata":{"promptTokenCount":70,"cachedContentTokenCount":20,"candidatesTokenCount":4,` +
				`"thoughtsTokenCount":7,"totalTokenCount":81}}`),
			event(`{"candidates":[{"content":{"parts":[{"text":" world"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":70,` +
				`"cachedContentTokenCount":20,"candidatesTokenCount":5,"thoughtsTokenCount":8,"totalTokenCount":83}}`),
			70, 20, 13, false,
		},
	} {
		script := providertest.Script{Header: map[string][]string{"Content-Type": {"text/event-stream"}},
			Pieces: [][]byte{[]byte(tt.first), []byte(tt.more)}, End: providertest.Reset}
		u := providertest.Serve(t, script)
		c := newFixture(t)
		for name, p := range translatorsAt(t, u.URL) {
			c.chat.Router().Upstreams[name] = pool.NewUpstream(name, p, poolOf("k"), time.Now)
		}
		ask := keyedStream(tt.model, models.Limits{})
		ask.Request = decoded(t, `{"model":"`+tt.model+`","messages":[{"role":"user","content":"hi"}],"stream":true}`)
		r, err := c.made(t, ask)
		if err == nil || r == nil || r.Outcome != models.OutcomeFailed || r.InputTokens != tt.input || r.CachedTokens != tt.cached ||
			r.OutputTokens != tt.output || r.Estimated != tt.estimated {
			t.Errorf("%s: %+v, %v", tt.model, r, err)
		}
		if strings.Contains(c.log.String(), "hello") || strings.Contains(c.log.String(), "ERROR") {
			t.Error(c.log.String())
		}
	}
}
