// Package live asks the providers themselves whether they still speak as the gateway expects. It makes one tiny call of each kind
// through the gateway's own handler, looks at what the provider sent on the way, and compares its members, their types, the order of
// events, the status and the headers with those of recorded answers (shapes.txt), what the client gets with what was asked for, and
// the provider's list of models with the catalogue.
package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"modelgateway/app"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/upstream"
)

// Options of a check.
type Options struct {
	Provider string // only this one; empty: all
	Record   string // the folder for the answers; empty: they are not kept
	Bounded  func(Bound)
	Checked  func(Line)
}

// Check checks the providers, one call after the other. It tells of each bound before the first call that costs something.
func Check(ctx context.Context, g *app.Live, o Options) (*Report, error) {
	expected, err := readShapes(known)
	if err != nil {
		return nil, err
	}
	report := &Report{OK: true, Bounds: []Bound{}, Lines: []Line{}}
	for _, p := range g.Providers {
		if o.Provider != "" && p.Name != o.Provider {
			continue
		}
		c := &checker{gateway: g, provider: p, shapes: expected, clean: newCleaner(g, p), report: report, options: o, now: time.Now()}
		if o.Record != "" {
			c.records = &records{dir: o.Record}
		}
		if err := c.run(ctx); err != nil {
			return nil, err
		}
	}
	for _, p := range g.LogIns {
		if o.Provider == "" || p.Name == o.Provider {
			report.logIn(ctx, p, o)
		}
	}
	if len(report.Lines) == 0 {
		return nil, errors.New("no provider is configured that can be checked: they are openai, anthropic and gemini, with their keys, " +
			"and the log-ins of clouds")
	}
	return report, ctx.Err()
}

// checker checks one provider.
type checker struct {
	gateway  *app.Live
	provider all.Configured
	shapes   shapes
	clean    *cleaner
	records  *records
	report   *Report
	options  Options
	now      time.Time
}

func (c *checker) run(ctx context.Context) error {
	listed, line := c.list(ctx)
	model, embedding := c.pick(llm.KindChat, listed), c.pick(llm.KindEmbedding, listed)
	calls := plan(c.provider.Name, model, embedding)
	total := price(calls, func(call *call) catalog.Price {
		if call.kind == vectors {
			return embedding.PriceAt(c.now)
		}
		return model.PriceAt(c.now)
	})
	bound := Bound{Provider: c.provider.Name, USD: dollars(total)}
	if model != nil {
		bound.Model = model.ID
	}
	c.report.Bounds = append(c.report.Bounds, bound)
	c.options.Bounded(bound)
	c.tell(line)
	for i := range calls {
		if ctx.Err() != nil {
			break
		}
		c.tell(c.check(ctx, &calls[i]))
	}
	return c.records.write()
}

func (c *checker) tell(line Line) {
	line.Provider, line.State = c.provider.Name, Expected
	for i := range line.Differences {
		d := &line.Differences[i]
		d.What = c.clean.text(d.What)
		line.State = Differs
		c.report.OK = c.report.OK && d.Minor
	}
	if line.State == Expected && line.Why != "" {
		line.State = NotOffered
	}
	if line.Differences == nil {
		line.Differences = []Difference{}
	}
	line.Why = c.clean.text(line.Why)
	c.report.Lines = append(c.report.Lines, line)
	c.options.Checked(line)
}

// list asks for the list of models, and compares it with the catalogue.
func (c *checker) list(ctx context.Context) ([]providers.Listed, Line) {
	var all differences
	seen := &recorder{}
	ctx, cancel := context.WithTimeout(upstream.WithTransport(ctx, seen.around), patience)
	defer cancel()
	listed, err := c.provider.Provider.Abilities().Models(ctx, c.provider.Keys[0].Reveal())
	c.judge(&call{kind: modelList}, seen.exchanges, &all)
	if err != nil {
		if len(all) == 0 {
			all.add(false, "the list of models cannot be read: %v", err)
		}
	} else {
		c.compareModels(listed, &all)
	}
	c.keep(&call{kind: modelList}, seen.exchanges, nil)
	return listed, Line{Kind: string(modelList), Differences: all}
}

func (c *checker) compareModels(listed []providers.Listed, all *differences) {
	has := func(id string) bool {
		return slices.ContainsFunc(listed, func(l providers.Listed) bool { return l.ID == id })
	}
	for _, m := range c.gateway.Catalog.Models() {
		if m.Provider == c.provider.Name && m.State(c.now) != catalog.Retired && !has(m.Upstream) {
			all.add(false, "model %s of the catalogue is not listed: calls of it may be refused", m.ID)
		}
	}
	for i := range listed {
		l := &listed[i]
		m, found := c.gateway.Catalog.Model(l.ID)
		if !found && c.gateway.Catalog.Sells(c.provider.Name, l.ID) {
			m, found = c.gateway.Catalog.Named(c.provider.Name, l.ID)
		}
		if !found {
			all.add(true, "model %s is new: the catalogue has no price for it", l.ID)
			continue
		}
		if l.Context > 0 && m.Context > 0 && l.Context != m.Context {
			all.add(false, "model %s reads %d tokens, and the catalogue has %d: clients size their windows by it",
				l.ID, l.Context, m.Context)
		}
		if l.MaxOutput > 0 && m.MaxOutput > 0 && l.MaxOutput != m.MaxOutput && m.Kind.Writes() {
			all.add(false, "model %s writes %d tokens at most, and the catalogue has %d: reservations depend on it",
				l.ID, l.MaxOutput, m.MaxOutput)
		}
	}
}

// pick is the cheapest model of a kind that is sold today, and is listed where there is a list; nil where there is none.
func (c *checker) pick(kind llm.Kind, listed []providers.Listed) (found *catalog.Model) {
	cost := func(m *catalog.Model) int64 {
		return m.PriceAt(c.now).MaxCost(catalog.Amounts{catalog.InputTokens: 2000, catalog.OutputTokens: 1000})
	}
	for _, m := range slices.Concat(c.gateway.Catalog.Models(), c.gateway.Catalog.Sold()) {
		if entry, is := c.gateway.Catalog.Model(m.ID); is {
			m = entry
		}
		t := m.Traits
		able := kind != llm.KindChat || t.Structured && len(t.Thinking) > 0 && (t.API == "" || t.API == catalog.APIBoth)
		here := len(listed) == 0 || slices.ContainsFunc(listed, func(l providers.Listed) bool { return l.ID == m.Upstream })
		if m.Provider == c.provider.Name && m.Kind == kind && m.State(c.now) == catalog.Active && able && here && m.PriceAt(c.now).Known &&
			(found == nil || cost(m) < cost(found)) {
			found = m
		}
	}
	return found
}

const patience = time.Minute // for one call

// check makes a call as often as it wants, and judges the last.
func (c *checker) check(ctx context.Context, k *call) Line {
	line := Line{Dialect: k.dialect, Kind: string(k.kind), Why: k.skipped}
	if k.kind == unknown && c.gateway.Simulated {
		line.Why = "the simulator takes any member"
	}
	if line.Why != "" {
		return line
	}
	var all differences
	for turn := range k.times {
		seen := &recorder{plant: k.kind == unknown}
		status, body := c.send(upstream.WithTransport(ctx, seen.around), k)
		c.judge(k, seen.exchanges, &all)
		if turn < k.times-1 {
			continue
		}
		if k.kind == count && len(seen.exchanges) == 0 && status == http.StatusOK {
			line.Why = "the provider has no such call: the gateway estimates"
			return line
		}
		if len(seen.exchanges) == 0 {
			all.add(false, "the gateway refused the call itself with %d: %s", status, messageOf(body))
		}
		var o *outcome
		o, line.Why = c.judgeClient(k, status, body, &all)
		c.keep(k, seen.exchanges, o)
	}
	line.Differences = all
	return line
}

// send makes a call as a client.
func (c *checker) send(ctx context.Context, k *call) (status int, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+k.path, strings.NewReader(encoded(k.body)))
	if err != nil {
		return http.StatusInternalServerError, []byte(err.Error())
	}
	r.RequestURI, r.RemoteAddr = k.path, "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	if k.dialect == messages {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	w := &response{header: http.Header{}}
	defer func() { // as net/http does: the gateway cuts off a stream that it cannot complete
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // a value of panic
			panic(cause)
		}
		status, body = w.status, w.body.Bytes()
	}()
	c.gateway.Handler.ServeHTTP(w, r)
	return 0, nil
}

// response keeps what a handler writes.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *response) Header() http.Header { return w.header }
func (w *response) Flush()              {}
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// wanted are the statuses with which a provider answers a call of this kind at a path.
func (k kind) wanted(path string) []int {
	switch {
	case k == unknown:
		return []int{http.StatusBadRequest}
	case k == wrongModel && strings.HasSuffix(path, "/responses"):
		return []int{http.StatusNotFound, http.StatusBadRequest}
	case k == wrongModel:
		return []int{http.StatusNotFound}
	}
	return []int{http.StatusOK}
}

// judge compares what the provider sent with what is expected of a call.
func (c *checker) judge(k *call, sent []*exchange, all *differences) {
	for _, e := range sent {
		f := c.shapes[formOf(c.provider.Name, e.path, e.status, e.stream())]
		a, err := readAnswer(e.body.Bytes(), e.stream())
		c.judgeStatus(k, e, a, all)
		c.judgeHeaders(k, e, all)
		switch {
		case e.status == 0:
		case e.err != nil:
			all.add(false, "the answer breaks off: %v", e.err)
		case err != nil:
			all.add(false, "the answer cannot be read: %v", err)
		case f != nil:
			for _, d := range f.compare(a) {
				all.add(d.Minor, "%s", d.What)
			}
		}
	}
}

func (c *checker) judgeStatus(k *call, e *exchange, a answer, all *differences) {
	wanted := k.kind.wanted(e.path)
	switch {
	case slices.Contains(wanted, e.status):
	case e.status == 0:
		all.add(false, "the provider did not answer: %v", e.err)
	case wanted[0] != http.StatusOK && e.status == http.StatusOK:
		all.add(false, "a request with the %s is accepted, and was refused with %d: clients are not told of their mistake",
			k.kind, wanted[0])
	default:
		all.add(false, "status %d in place of %d: %s", e.status, wanted[0], text(a.first(), "error", "message"))
	}
}

// judgeHeaders looks for the headers that the gateway reads.
func (c *checker) judgeHeaders(k *call, e *exchange, all *differences) {
	if e.status == 0 {
		return
	}
	kind, want := e.header.Get("Content-Type"), "application/json"
	if k.body["stream"] == true && e.status == http.StatusOK {
		want = "text/event-stream"
	}
	if !strings.HasPrefix(kind, want) {
		all.add(false, "header content-type is %q in place of %s: it says whether an answer is a stream", kind, want)
	}
	id := map[string]string{catalog.OpenAI: "x-request-id", catalog.Anthropic: "request-id"}[c.provider.Name]
	if id != "" && k.kind != modelList && e.header.Get(id) == "" {
		all.add(false, "header %s is missing: the log and the traces name the provider's request by it", id)
	}
}

// judgeClient compares what the client got with what it asked for.
func (c *checker) judgeClient(k *call, status int, body []byte, all *differences) (o *outcome, why string) {
	wanted := k.kind.wanted(k.path)
	a, err := readAnswer(body, k.body["stream"] == true && status == http.StatusOK)
	switch {
	case !slices.Contains(wanted, status):
		all.add(false, "the client gets status %d in place of %d: %s", status, wanted[0], messageOf(body))
	case err != nil:
		all.add(false, "the client's answer cannot be read: %v", err)
	case wanted[0] != http.StatusOK:
		if messageOf(body) == "" {
			all.add(false, "the client's error has no message%s", matters("error"))
		}
	case k.kind == count:
		if number(a.first(), "input_tokens") <= 0 {
			all.add(false, "the client is told of no tokens%s", matters("usage"))
		}
	case k.kind == vectors:
		if len(list(a.first(), "data", 0, "embedding")) == 0 {
			all.add(false, "the client gets no vector")
		}
	default:
		of := outcomeOf(k.dialect, a)
		return &of, of.judge(k.kind, all)
	}
	return nil, ""
}

// first is the first value of an answer, which may be none.
func (a answer) first() any {
	if len(a.values) == 0 {
		return nil
	}
	return a.values[0]
}

// messageOf is the message of an error of the gateway.
func messageOf(body []byte) string {
	a, _ := readAnswer(body, false)
	const longest = 200
	return fmt.Sprintf("%.*s", longest, text(a.first(), "error", "message"))
}
