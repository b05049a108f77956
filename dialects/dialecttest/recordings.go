package dialecttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/tests/longtest"
)

// TestRecordings writes every recorded answer of the drivers' providers in each way of the
// dialect: the stream keeps the rules, also where it breaks off, and says what the whole answer
// says. An answer that is an error is given to refused.
func (d *Reader[Answer]) TestRecordings(
	t *testing.T, drivers []providers.Driver, refused func(*testing.T, providertest.Recording, *api.Error),
) {
	var all []providertest.Recording
	for _, dir := range slices.Compact([]string{providertest.Own(), providertest.Dir()}) {
		all = append(all, providertest.Load(t, dir)...)
	}
	for _, driver := range drivers {
		if !slices.Contains([]string{"openai", "anthropic", "gemini"}, driver.Name) {
			continue // it speaks as one of them
		}
		t.Run(driver.Name, func(t *testing.T) {
			t.Parallel()
			up := providertest.Serve(t)
			provider := driver.New(providers.Options{
				Name: driver.Name, BaseURL: up.URL, Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
			})
			recordings := 0
			for _, r := range all {
				if r.Provider != driver.Name {
					continue
				}
				recordings++
				up.Play(r.Script())
				stream, err := opened(t, provider, r)
				if err != nil {
					refused(t, r, api.AsError(err))
					continue
				}
				events, broke := kept(stream)
				for name, req := range d.Ways {
					t.Run(r.File+"/"+name, func(t *testing.T) { d.recording(t, req, events, broke) })
				}
			}
			if recordings == 0 {
				t.Error("there are no recordings")
			}
		})
	}
}

// opened is a provider's answer to the simplest request, in a dialect that it has to translate.
func opened(t *testing.T, provider providers.Provider, r providertest.Recording) (llm.Stream, error) {
	model := providertest.Catalog(t).Derive(r.Provider, r.ModelID())
	body := fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"Hello"}],"stream":%t}`, model.ID, r.Stream)
	req, err := chat.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	x, err := provider.Prepare(providers.Call{Request: providertest.Foreign(req), Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return x.Open(t.Context(), "sk-test")
}

func (d *Reader[Answer]) recording(t *testing.T, request func() *llm.Request, events []*llm.Event, broke error) {
	again := func(yield func(*llm.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
	for at := 1; at <= len(events); at += 1 + len(events)/longtest.Size(20, 2000) {
		d.broken(t, request(), again, at)
	}
	if broke == nil {
		d.Both(t, request(), again)
	}
}

// kept are the events of a stream, which are valid only until the next, and its error.
func kept(stream llm.Stream) (events []*llm.Event, broke error) {
	for e, err := range stream {
		if err != nil {
			return events, err
		}
		if e == nil {
			continue
		}
		c := *e
		c.Head, c.Thought, c.Media, c.Usage, c.Call = clone(e.Head), clone(e.Thought), clone(e.Media), clone(e.Usage), clone(e.Call)
		c.Head.Counter = nil // it tells what the stream has read at last
		c.StopDetails, c.Safety, c.Logprobs = slices.Clone(e.StopDetails), slices.Clone(e.Safety), slices.Clone(e.Logprobs)
		if c.Call != nil {
			c.Call.Thought = clone(c.Call.Thought)
		}
		events = append(events, &c)
	}
	return events, nil
}

func clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}
