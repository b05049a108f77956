package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
)

// testKey is what calls are made with.
const testKey = "sk-test"

// timeout bounds one call of a provider.
const timeout = time.Minute

// Run tests a provider with the recordings of its upstream: those of the
// project and, when Dir is another folder, those there. Each is sent whole;
// each stream in pieces with cuts at every place, which must change nothing;
// and each cut short at every place, which must give an error unless nothing
// was lost. The number of cuts is bounded, so that it takes well under a
// minute; CUTS=all in the environment cuts every small stream at every byte,
// which takes minutes.
//
// The driver makes the provider for an upstream; derive makes the catalogue's
// entry for a model that the provider serves.
func Run(t *testing.T, provider string, driver func(baseURL string) providers.Provider, derive func(id string) *catalog.Model) {
	s := suite{driver: driver, derive: derive}
	var mine []Recording
	for _, dir := range slices.Compact([]string{Own(), Dir()}) {
		for _, rec := range Load(t, dir) {
			if rec.Provider == provider {
				mine = append(mine, rec)
			}
		}
	}
	if len(mine) == 0 {
		t.Fatalf("there are no recordings of %s", provider)
	}
	t.Run("leaving", func(t *testing.T) { report(t, s.leaving(t, mine)) })
	most := budget(mine, work())
	var cuts atomic.Int64
	t.Run("recordings", func(t *testing.T) {
		for i := range mine {
			rec := mine[i]
			t.Run(rec.File, func(t *testing.T) {
				t.Parallel()
				n, faults := s.check(t, rec, most)
				cuts.Add(int64(n))
				report(t, faults)
			})
		}
	})
	t.Logf("%d recordings of %s, played %d times in pieces or cut short", len(mine), provider, cuts.Load())
}

func report(t *testing.T, faults []error) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

type suite struct {
	driver func(baseURL string) providers.Provider
	derive func(id string) *catalog.Model
}

// check sends one recording in all ways and returns how often it was cut, and
// the faults; most is how often it may be cut. It stops at the first fault of
// the cuts.
func (s suite) check(t testing.TB, rec Recording, most int) (int, []error) {
	up := Serve(t, rec.Script())
	x, err := s.prepare(up.URL, rec, rec.Stream)
	if err != nil {
		return 0, []error{err}
	}
	p := player{up: up, exchange: x, script: rec.Script()}
	if !rec.Stream {
		return s.checkAnswer(rec, p)
	}
	whole := p.stream(p.script)
	if err := Compare(rec, whole); err != nil {
		return 0, []error{fmt.Errorf("whole: %w", err)}
	}
	cuts := 0
	for _, way := range []func(player, Recording, Outcome, int) (int, error){pieces, truncations} {
		n, err := way(p, rec, whole, most)
		if cuts += n; err != nil {
			return cuts, []error{err}
		}
	}
	return cuts, nil
}

// checkAnswer sends a recording that is not a stream: whole and, unless it is
// an error, cut short. An upstream refuses streams in the same way.
func (s suite) checkAnswer(rec Recording, p player) (int, []error) {
	if err := Compare(rec, p.complete(p.script)); err != nil {
		return 0, []error{fmt.Errorf("whole: %w", err)}
	}
	if rec.Failed() {
		x, err := s.prepare(p.up.URL, rec, true)
		if err != nil {
			return 0, []error{err}
		}
		p.exchange = x
		if err := Compare(rec, p.stream(p.script)); err != nil {
			return 0, []error{fmt.Errorf("as the answer to a stream: %w", err)}
		}
		return 0, nil
	}
	const samples = 40
	// After the last bracket nothing is lost.
	end := strings.LastIndexAny(string(rec.Body), "]}")
	cuts := 0
	for at := 0; at <= end; at += 1 + end/samples {
		cuts++
		if got := p.complete(p.script.Cut(at, Proper)); got.Failure == nil {
			return cuts, []error{fmt.Errorf("cut short at byte %d of %d it passes as an answer", at, len(rec.Body))}
		}
	}
	return cuts, nil
}

// prepare translates the simplest request for the recording's model.
func (s suite) prepare(baseURL string, rec Recording, stream bool) (exchange, error) {
	model := s.derive(rec.ModelID())
	body := map[string]any{
		"model":    model.ID,
		"messages": []map[string]string{{"role": "user", "content": "Hello"}},
	}
	if stream {
		maps.Copy(body, map[string]any{"stream": true, "stream_options": map[string]bool{"include_usage": true}})
	}
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return exchange{}, err
	}
	request, err := chat.Decode(nil, text)
	if err != nil {
		return exchange{}, err
	}
	x, err := s.driver(baseURL).Prepare(providers.Call{Request: request, Model: model})
	if err != nil {
		return exchange{}, fmt.Errorf("prepare the simplest request: %w", err)
	}
	if len(x.Properties().Ignored) > 0 {
		return exchange{}, fmt.Errorf("the simplest request has ignored fields: %v", x.Properties().Ignored)
	}
	return exchange{Exchange: x, request: request}, nil
}

// exchange is a prepared request, with the request that its answers are read
// for.
type exchange struct {
	providers.Exchange
	request *llm.Request
}

// player sends one exchange repeatedly, to an upstream that answers with a
// script.
type player struct {
	up       *Upstream
	exchange exchange
	script   Script
}

func (p player) complete(s Script) Outcome {
	p.up.Play(s)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stream, err := p.exchange.Open(ctx, testKey)
	if err != nil {
		return FromError(err)
	}
	answer, err := Completion(p.exchange.request, stream)
	if err != nil {
		return FromError(err)
	}
	return FromCompletion(answer)
}

func (p player) stream(s Script) Outcome {
	p.up.Play(s)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stream, err := p.exchange.Open(ctx, testKey)
	if err != nil {
		return FromError(err)
	}
	return FromChunks(Chunks(p.exchange.request, stream))
}

// leaving checks that a client that disconnects ends the upstream's work:
// during the wait for the first byte and in the middle of an answer.
func (s suite) leaving(t testing.TB, all []Recording) []error {
	at := slices.IndexFunc(all, func(r Recording) bool {
		return r.Stream && len(Events(r.Body)) > 3 && !r.wantsError(r.amended())
	})
	if at < 0 {
		return []error{errors.New("no recorded stream is long enough to leave it")}
	}
	rec := all[at]
	up := Serve(t)
	for _, stream := range []bool{true, false} {
		x, err := s.prepare(up.URL, rec, stream)
		if err != nil {
			return []error{err}
		}
		p := player{up: up, exchange: x}
		for name, script := range map[string]Script{
			"before the first byte": {End: Hold},
			"after the first byte":  rec.Script().Cut(1, Hold),
			"in the middle":         rec.Script().Cut(len(rec.Body)/2, Hold),
		} {
			if err := p.leave(script); err != nil {
				return []error{fmt.Errorf("left %s, stream %t: %w", name, stream, err)}
			}
		}
	}
	return nil
}

// leave starts an answer that never ends, and leaves it when the first chunk
// has arrived or after some time.
func (p player) leave(s Script) error {
	const wait, soon = 50 * time.Millisecond, 5 * time.Second
	p.up.Play(s)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	left := make(chan error, 1)
	go func() { left <- p.begin(ctx) }()
	_, gone := p.up.Gone(wait + soon)
	if !gone {
		p.up.Disconnect()
	}
	err := <-left
	switch {
	case !gone:
		return errors.New("the upstream's work continues")
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the error is not the context's: %w", err)
	}
	return nil
}

// begin returns at the first event, or with the error.
func (p player) begin(ctx context.Context) error {
	events, err := p.exchange.Open(ctx, testKey)
	if err != nil {
		return err
	}
	for _, err := range events {
		return err
	}
	return errors.New("the stream yields nothing")
}
