package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// billingUpstream is an upstream of all three providers that records the calls
// and the charges of each mark in a prompt. The mark says how the call ends, as in
// END-broken-7.
type billingUpstream struct {
	url    string
	codec  tokenizer.Codec
	client client

	mu    sync.Mutex
	books map[string]gatewaytest.Charges
	asked map[string]int
}

var endMark = regexp.MustCompile(`END-([a-z]+)-[a-z0-9]+`)

func newBillingUpstream(t *testing.T, of client) *billingUpstream {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	b := &billingUpstream{codec: codec, client: of, books: map[string]gatewaytest.Charges{}, asked: map[string]int{}}
	b.url = gatewaytest.ServeUpstream(t, b)
	return b
}

func (b *billingUpstream) tokens(texts ...string) (n int64) {
	for _, text := range texts {
		one, err := b.codec.Count(text)
		if err != nil {
			panic(err)
		}
		n += int64(one)
	}
	return n
}

// record adds what a call is charged.
func (b *billingUpstream) record(mark string, c gatewaytest.Charges) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.books[mark] = c
}

// charged returns what a call was charged and how often the upstream was called.
func (b *billingUpstream) charged(mark string) (gatewaytest.Charges, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.books[mark], b.asked[mark]
}

// partialText is the text of a stream before it is interrupted.
var partialText = []string{"The tide ", "comes in twice ", "a day — ", "два раза, 二回."}

func (b *billingUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // counted even if the client leaves
	found := endMark.FindStringSubmatch(string(body))
	if found == nil {
		http.Error(w, "no mark", http.StatusNotImplemented)
		return
	}
	b.mu.Lock()
	b.asked[found[0]]++
	times := b.asked[found[0]]
	b.mu.Unlock()
	dialect := dialectOf(r.URL.Path)
	streams := strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "streamGenerate")
	c := gatewaytest.Charges{
		Prompt:    1000 + int64(len(body)),
		Cached:    300 + int64(len(body))%7,
		Output:    40 + int64(len(body))%11,
		Reasoning: 17,
	}
	if dialect.Writes {
		c.Written = 100
	}
	refuse := func(status int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, dialect.Refusal(status))
	}
	switch found[1] {
	case "refused":
		refuse(http.StatusBadRequest)
	case "limited":
		w.Header().Set("Retry-After", "60")
		refuse(http.StatusTooManyRequests)
	case "failed":
		refuse(http.StatusInternalServerError)
	case "retried":
		if times == 1 {
			refuse(http.StatusServiceUnavailable)
			return
		}
		b.answerWhole(w, dialect, streams, found[0], c)
	case "fallback":
		if times <= 2 {
			refuse(http.StatusInternalServerError)
			return
		}
		b.answerWhole(w, dialect, streams, found[0], c)
	case "whole":
		b.answerWhole(w, dialect, streams, found[0], c)
	case "uncounted":
		b.record(found[0], gatewaytest.Charges{Prompt: b.promptTokens(found[0]), Output: b.tokens(strings.Join(partialText, "")), Estimated: true})
		b.send(w, dialect, streams, nil, dialect.Text(strings.Join(partialText, ""), nil), dialect.End(nil))
	default: // broken, faulty, slow and left
		b.answerPartly(w, r, dialect, streams, found, c)
	}
}

// answerWhole answers in full.
func (b *billingUpstream) answerWhole(w http.ResponseWriter, d gatewaytest.Dialect, streams bool, mark string, c gatewaytest.Charges) {
	b.record(mark, c)
	b.send(w, d, streams, &c, d.Text("Twice ", nil), d.Text("a day.", nil), d.End(&c))
}

// send sends the pieces as a stream, or together as a whole answer.
func (b *billingUpstream) send(w http.ResponseWriter, d gatewaytest.Dialect, streams bool, c *gatewaytest.Charges, pieces ...string) {
	if !streams {
		w.Header().Set("Content-Type", "application/json")
		text := strings.Join(partialText, "")
		if c != nil {
			text = "Twice a day."
		}
		_, _ = io.WriteString(w, d.Answer(text, c))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range append([]string{d.Start(c)}, pieces...) {
		_, _ = io.WriteString(w, piece)
		_ = http.NewResponseController(w).Flush()
	}
}

// answerPartly stops before the end of the answer.
func (b *billingUpstream) answerPartly(
	w http.ResponseWriter, r *http.Request, d gatewaytest.Dialect, streams bool, found []string, c gatewaytest.Charges,
) {
	guess := b.promptTokens(found[0])
	if !streams {
		charged, _ := b.charged(found[0])
		if found[1] != "faulty" { // an answer without charges
			charged.Prompt, charged.Estimated = charged.Prompt+guess, true // each time it is asked
		}
		b.record(found[0], charged)
		switch found[1] {
		case "broken":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, d.Answer("Twice", &c)[:40])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "faulty":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, d.Refusal(http.StatusInternalServerError))
		default:
			<-r.Context().Done()
		}
		return
	}
	reported := gatewaytest.Charges{Prompt: c.Prompt, Cached: c.Cached, Written: c.Written}
	if d.Name == "openai" {
		reported = gatewaytest.Charges{Prompt: guess}
	}
	reported.Output, reported.Estimated = b.tokens(strings.Join(partialText, "")), d.Name != "gemini"
	b.record(found[0], reported)
	var pieces []string
	for i, piece := range partialText {
		sofar := gatewaytest.Charges{Prompt: c.Prompt, Cached: c.Cached, Output: b.tokens(strings.Join(partialText[:i+1], ""))}
		pieces = append(pieces, d.Text(piece, &sofar))
	}
	if found[1] == "faulty" {
		pieces = append(pieces, d.Fault)
	}
	b.send(w, d, true, &c, pieces...)
	if found[1] == "slow" || found[1] == "left" {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// The prompt of every call, but for its mark.
const system, user = "You are a harbour master. Antworte kurz.", "How often does the tide come in? "

// client is the dialect of the calls.
type client struct {
	name, path string
	body       func(model, prompt string, stream bool) string
	messages   int64    // of a prompt
	roles      []string // of them
}

func clients() []client {
	return []client{
		{"chat", "/v1/chat/completions", func(model, prompt string, stream bool) string {
			return fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":%q},{"role":"user","content":%q}],"stream":%t}`,
				model, system, prompt, stream)
		}, 2, []string{"system", "user"}},
		{"messages", "/v1/messages", func(model, prompt string, stream bool) string {
			return fmt.Sprintf(`{"model":%q,"max_tokens":1000,"system":%q,"messages":[{"role":"user","content":%q}],"stream":%t}`,
				model, system, prompt, stream)
		}, 1, []string{"user"}},
		{"responses", "/v1/responses", func(model, prompt string, stream bool) string {
			return fmt.Sprintf(`{"model":%q,"instructions":%q,"input":%q,"store":false,"stream":%t}`, model, system, prompt, stream)
		}, 2, nil},
	}
}

// nativeTo is the provider that speaks the client's dialect and whose refusals have their
// own status; the errors of chat completions have the gateway's.
func (c client) nativeTo() string {
	return map[string]string{"messages": "anthropic", "responses": "openai"}[c.name]
}

// promptTokens counts the prompt as OpenAI's cookbook does, which is the gateway's
// estimate.
func (b *billingUpstream) promptTokens(mark string) int64 {
	return 3 + 3*b.client.messages + b.tokens(append([]string{system, user + mark}, b.client.roles...)...)
}

func dialectOf(path string) gatewaytest.Dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropicDialect()
	case strings.HasSuffix(path, "/responses"):
		return gatewaytest.ResponsesDialect()
	case strings.Contains(path, "enerateContent"):
		return geminiDialect()
	}
	return gatewaytest.OpenAIDialect()
}

func anthropicDialect() gatewaytest.Dialect {
	input := func(c *gatewaytest.Charges) string {
		return fmt.Sprintf(
			`"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d`,
			c.Prompt-c.Cached-c.Written,
			c.Written,
			c.Cached,
		)
	}
	output := func(c *gatewaytest.Charges) string {
		return fmt.Sprintf(`"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}`, c.Output, c.Reasoning)
	}
	event := func(kind, data string) string { return "event: " + kind + "\ndata: " + data + "\n\n" }
	problem := `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`
	return gatewaytest.Dialect{
		Name: "anthropic", Writes: true, Fault: event("error", problem),
		Refusal: func(status int) string {
			if status == http.StatusBadRequest {
				return `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`
			}
			return problem
		},
		Start: func(c *gatewaytest.Charges) string {
			usage := ""
			if c != nil {
				usage = `,"usage":{` + input(c) + `,"output_tokens":2}`
			}
			return event(
				"message_start",
				`{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[],"stop_reason":null`+usage+`}}`,
			) +
				event(
					"content_block_start",
					`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				)
		},
		Text: func(s string, _ *gatewaytest.Charges) string {
			return event(
				"content_block_delta",
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+gatewaytest.Quote(s)+`}}`,
			)
		},
		End: func(c *gatewaytest.Charges) string {
			usage := ""
			if c != nil {
				usage = `,"usage":{` + output(c) + `}`
			}
			return event("content_block_stop", `{"type":"content_block_stop","index":0}`) +
				event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null}`+usage+`}`) +
				event("message_stop", `{"type":"message_stop"}`)
		},
		Answer: func(s string, c *gatewaytest.Charges) string {
			usage := ""
			if c != nil {
				usage = `,"usage":{` + input(c) + "," + output(c) + `}`
			}
			return `{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":` + gatewaytest.Quote(s) + `}],"stop_reason":"end_turn","stop_sequence":null` + usage + `}`
		},
	}
}

func geminiDialect() gatewaytest.Dialect {
	body := func(s, finish string, c *gatewaytest.Charges) string {
		usage := ""
		if c != nil {
			usage = fmt.Sprintf(
				`,"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d}`,
				c.Prompt,
				c.Cached,
				c.Output-c.Reasoning,
				c.Reasoning,
				c.Prompt+c.Output,
			)
		}
		return `{"candidates":[{"content":{"parts":[{"text":` + gatewaytest.Quote(s) + `}],"role":"model"}` + finish + `,"index":0}]` + usage + `,"modelVersion":"gemini-2.5-flash","responseId":"x"}`
	}
	event := func(data string) string { return "data: " + data + "\r\n\r\n" }
	problem := `{"error":{"code":500,"message":"An internal error has occurred","status":"INTERNAL"}}`
	return gatewaytest.Dialect{
		Name: "gemini", Fault: event(problem), Refusal: func(int) string { return problem },
		Start:  func(*gatewaytest.Charges) string { return event(body("", "", nil)) },
		Text:   func(s string, c *gatewaytest.Charges) string { return event(body(s, "", c)) },
		End:    func(c *gatewaytest.Charges) string { return event(body("", `,"finishReason":"STOP"`, c)) },
		Answer: func(s string, c *gatewaytest.Charges) string { return body(s, `,"finishReason":"STOP"`, c) },
	}
}

// prices are those of the catalogue, in dollars per million tokens.
var prices = map[string]struct{ input, cached, written, output string }{
	"gpt-4":                     {"30", "30", "30", "60"},
	"claude-haiku-4-5-20251001": {"1", "0.10", "1.25", "5"},
	"gemini-2.5-flash":          {"0.30", "0.03", "0.30", "2.50"},
}

// costOf computes a cost in micro-dollars with exact fractions; halves are rounded
// up.
func costOf(model string, c gatewaytest.Charges) int64 {
	sum := new(big.Rat)
	add := func(tokens int64, price string) {
		p, _ := new(big.Rat).SetString(price)
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(tokens)))
	}
	p := prices[model]
	add(c.Prompt-c.Cached-c.Written, p.input)
	add(c.Cached, p.cached)
	add(c.Written, p.written)
	add(c.Output, p.output)
	sum.Add(sum, big.NewRat(1, 2))
	return new(big.Int).Div(sum.Num(), sum.Denom()).Int64()
}

// ending is how a call ends, and what the ledger records of it.
type ending struct {
	name, outcome string
	status        int // of an answer
	streamed      int // of a stream
}

func endings() []ending {
	return []ending{
		{name: "whole", outcome: "ok", status: 200, streamed: 200},
		{name: "uncounted", outcome: "ok", status: 200, streamed: 200},
		{name: "refused", outcome: "refused", status: 400, streamed: 400},
		{name: "failed", outcome: "provider_error", status: 502, streamed: 502},
		{name: "retried", outcome: "ok", status: 200, streamed: 200},
		{name: "fallback", outcome: "ok", status: 200, streamed: 200},
		{name: "broken", outcome: "provider_error", status: 502, streamed: 200},
		{name: "faulty", outcome: "provider_error", status: 502, streamed: 200},
		{name: "slow", outcome: "timeout", status: 504, streamed: 200},
		{name: "left", outcome: "client_gone", status: 499, streamed: 200},
		{name: "limited", outcome: "refused", status: 429, streamed: 429}, // last: the keys cool down after it
	}
}

// For every ending, of answers and of streams, in all dialects, on all three providers,
// the ledger has what the provider charges, to the token and the micro-dollar.
func TestLedgerMatchesWhatTheProvidersCharge(t *testing.T) {
	t.Parallel()
	for _, from := range clients() {
		for _, f := range gatewaytest.Providers() {
			t.Run(from.name+" to "+f.Name, func(t *testing.T) {
				t.Parallel()
				testLedger(t, from, f)
			})
		}
	}
}

func testLedger(t *testing.T, from client, f gatewaytest.Provider) {
	b := newBillingUpstream(t, from)
	keys := "=a1,a2,a3,a4,a5,a6,a7,a8" // so that no circuit opens
	stand := map[string]string{"openai": "claude-haiku-4-5-20251001", "anthropic": "gemini-2.5-flash", "gemini": "gpt-4"}[f.Name]
	asked := map[string]string{"openai": "gpt-3.5-turbo", "anthropic": "claude-3-haiku-20240307", "gemini": "gemini-2.5-flash-lite"}[f.Name]
	file := t.TempDir() + "/gateway.db"
	p := gatewaytest.Start(t, "DATABASE_URL=sqlite:"+file, "REQUIRE_AUTH=true", "JWT_SECRET=9c1f0be24a7d45d3a6f8e2b7c05d913e",
		"OPENAI_API_KEY"+keys, "ANTHROPIC_API_KEY"+keys, "GEMINI_API_KEY"+keys,
		"OPENAI_BASE_URL="+b.url, "ANTHROPIC_BASE_URL="+b.url, "GEMINI_BASE_URL="+b.url,
		"MAX_RETRIES=1", "UPSTREAM_TIMEOUT_SECONDS=3", "STREAM_IDLE_TIMEOUT_SECONDS=3", "FALLBACKS="+asked+"="+stand)
	late := longtest.Lateness(t)
	token := p.Login(t)
	keyID, key := p.CreateKey(t, token)
	var total gatewaytest.Charges
	var cost, calls int64
	for _, stream := range []bool{false, true} {
		for _, e := range endings() {
			model := f.Model
			if e.name == "fallback" {
				model = asked
			}
			id := fmt.Sprintf("END-%s-%s%t", e.name, f.Name, stream)
			id = strings.ReplaceAll(id, "-"+f.Name, "-"+strings.ReplaceAll(f.Name, "-", ""))
			callUntilItsEnd(t, p, b, e, id, key, model, stream)
			row := gatewaytest.AwaitLedgerRow(t, file, id)
			served := model
			if e.name == "fallback" {
				served = stand
			}
			want, attempts := b.charged(id)
			wantCost := costOf(served, want)
			if each := want; attempts > 1 && want.Estimated && want.Output == 0 { // each of the calls is charged, and its cost rounded
				each.Prompt /= int64(attempts)
				wantCost = int64(attempts) * costOf(served, each)
			}
			status := e.status
			if stream {
				status = e.streamed
			}
			if from.nativeTo() == f.Name && status == http.StatusBadGateway && e.name != "broken" {
				status = http.StatusInternalServerError // the provider's own status is passed on
			}
			got := gatewaytest.Charges{
				Prompt:    row.Prompt,
				Cached:    row.Cached,
				Written:   row.Written,
				Output:    row.Output,
				Reasoning: row.Reasoning,
				Estimated: row.Estimated,
			}
			if got != want || row.Cost != wantCost {
				t.Errorf("%s: the ledger has %+v for %d, the provider %+v for %d", id, got, row.Cost, want, wantCost)
			}
			if row.Outcome != e.outcome || row.Status != status || row.Attempts != attempts || row.Served != served || row.Model != model ||
				row.Stream != stream ||
				row.KeyID != keyID ||
				!row.Priced {
				t.Errorf("%s: %+v, asked %d times", id, row, attempts)
			}
			if row.Duration <= 0 || row.FirstToken > row.Duration || row.Overhead < 0 || row.Overhead > row.Duration ||
				e.outcome == "ok" && row.FirstToken == 0 {
				t.Errorf("%s: times %d, %d, %d", id, row.FirstToken, row.Duration, row.Overhead)
			}
			if row.Overhead > 400_000+late().Microseconds() {
				t.Errorf("%s: %d µs are recorded as overhead", id, row.Overhead)
			}
			total.Prompt, total.Output, cost, calls = total.Prompt+want.Prompt, total.Output+want.Output, cost+wantCost, calls+1
		}
	}
	checkUsage(t, p, token, key, keyID, total, cost, calls)
}

// callUntilItsEnd makes one call that ends as its ending says.
func callUntilItsEnd(t *testing.T, p *gatewaytest.Program, b *billingUpstream, e ending, id, key, model string, stream bool) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := b.client.body(model, user+id, stream)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+b.client.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Request-Id", id)
	if e.name == "left" && !stream {
		go func() {
			for ctx.Err() == nil {
				if _, asked := b.charged(id); asked > 0 {
					leave()
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if e.name != "left" {
			t.Fatal(err)
		}
		return
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if e.name == "left" && strings.Contains(line, "二回.") {
			return // when all of it has arrived
		}
		if err != nil {
			return
		}
	}
}

// checkUsage compares the usage that the caller is shown with the charges.
func checkUsage(t *testing.T, p *gatewaytest.Program, token []string, key, keyID string, total gatewaytest.Charges, cost, calls int64) {
	t.Helper()
	dollars := func(n json.Number) int64 {
		r, ok := new(big.Rat).SetString(n.String())
		if !ok {
			t.Fatalf("%q is no amount", n)
		}
		r.Mul(r, big.NewRat(1_000_000, 1))
		if !r.IsInt() {
			t.Fatalf("%s is no whole number of micro-dollars", n)
		}
		return r.Num().Int64()
	}
	for _, credential := range [][]string{token, {"X-API-Key", key}} {
		a := p.Call(t, http.MethodGet, "/v1/usage", "", credential...)
		var usage struct {
			Total struct {
				Calls  int64       `json:"calls"`
				Input  int64       `json:"input_tokens"`
				Output int64       `json:"output_tokens"`
				Cost   json.Number `json:"cost_usd"`
			}
		}
		if err := json.Unmarshal([]byte(a.Body), &usage); err != nil || a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if u := usage.Total; u.Calls != calls || u.Input != total.Prompt || u.Output != total.Output || dollars(u.Cost) != cost {
			t.Errorf("the usage is %+v; the books have %d calls, %+v for %d", u, calls, total, cost)
		}
	}
	a := p.Call(t, http.MethodGet, "/auth/keys", "", token...)
	var list struct {
		Data []struct {
			ID    string
			Spend json.Number `json:"spend_usd"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatal(err)
	}
	for _, k := range list.Data {
		if k.ID == keyID && dollars(k.Spend) != cost {
			t.Errorf("the key has spent %s, not %d", k.Spend, cost)
		}
	}
}
