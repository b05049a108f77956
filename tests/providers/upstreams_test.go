package providers

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// shared starts a gateway with a model that two providers have.
func shared(t *testing.T, upstreams string, urls [2]string, settings ...string) *gatewaytest.Program {
	t.Helper()
	return gatewaytest.Start(t, append([]string{"OPENAI_API_KEY=sk-own", "OPENAI_BASE_URL=" + urls[0], "AZURE_EU_KEY=azure-one",
		"MODELS_FILE=" + write(t, "models.yaml", `
providers:
  - {name: azure-eu, preset: azure, base_url: '`+urls[1]+`/openai/v1', keys: {env: AZURE_EU_KEY}}
models:
  - id: gpt-4o
    price: {input: 2, output: 8}
    upstreams: `+upstreams+"\n")}, settings...)...)
}

const inOrder = "[{provider: openai}, {provider: azure-eu, upstream: chat-prod, price: {input: 10, output: 30}}]"

// The next upstream answers where the first cannot, and the ledger has its name and its
// price.
func TestTheNextUpstreamOfAModelAnswersWhereTheFirstCannot(t *testing.T) {
	t.Parallel()
	f := openAI()
	openai, azure := providertest.Serve(t), providertest.Serve(t)
	db := t.TempDir() + "/gateway.db"
	p := shared(t, inOrder, [2]string{openai.URL, azure.URL}, "MAX_RETRIES=0", "DATABASE_URL=sqlite:"+db)
	for _, members := range []string{"", gatewaytest.Streaming} {
		openai.Play(f.WholeAnswer(members, "fine"))
		a := p.Chat(t, ask("gpt-4o", members))
		if row := gatewaytest.AwaitLedgerRow(t, db, a.Header.Get("X-Request-Id")); a.Header.Get("X-Gateway-Provider") != "openai" ||
			row.Provider() != "openai" || row.Cost != 3*2+4*8 {
			t.Errorf("%d %v %+v", a.Status, a.Header, row)
		}
		for _, status := range []int{404, 500} { // no key has to wait after them
			openai.Play(gatewaytest.JSON(status, `{"error":{"message":"not now"}}`))
			azure.Play(f.WholeAnswer(members, "fine"))
			a := p.Chat(t, ask("gpt-4o", members))
			row := gatewaytest.AwaitLedgerRow(t, db, a.Header.Get("X-Request-Id"))
			if a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "azure-eu" || a.Header.Get("X-Gateway-Fallback") != "" ||
				row.Provider() != "azure-eu" || row.Model != "gpt-4o" || row.Cost != 3*10+4*30 {
				t.Errorf("%d: %d %v %s %+v", status, a.Status, a.Header, a.Body, row)
			}
		}
	}
	for name, u := range map[string]*providertest.Upstream{"openai/gpt-4o": openai, "azure-eu/gpt-4o": azure} {
		u.Play(gatewaytest.JSON(500, `{"error":{"message":"not now"}}`))
		provider, _, _ := strings.Cut(name, "/")
		if a := p.Chat(t, ask(name, "")); a.Status != 502 || a.APIError(t).Provider != provider || len(u.Requests()) != 1 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	azure.Play()
	openai.Play(gatewaytest.JSON(400, `{"error":{"message":"not so"}}`))
	if a := p.Chat(t, ask("gpt-4o", "")); a.Status != 400 || len(azure.Requests()) != 0 {
		t.Errorf("a request that the upstream refuses for good: %d %s", a.Status, a.Body)
	}
	openai.Play(gatewaytest.JSON(429, `{"error":{"message":"not now"}}`))
	answers(azure, "fine", 2)
	for range 2 { // in the second call the key of the first upstream still has to wait
		if a := p.Chat(t, ask("gpt-4o", "")); a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "azure-eu" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if n := len(openai.Requests()); n != 1 {
		t.Errorf("the upstream that limits its calls had %d", n)
	}
}

// counting is an upstream that counts its calls, and fails while broken is set.
func counting(t *testing.T, calls *atomic.Int64, broken *atomic.Bool) string {
	return gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(openAI().Answer("fine")))
	}))
}

// send sends n calls from 8 clients, and returns how many were answered.
func send(t *testing.T, p *gatewaytest.Program, n int) (answered int64) {
	t.Helper()
	var left, ok atomic.Int64
	left.Store(int64(n))
	client := gatewaytest.ParallelClient(t)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				if o := gatewaytest.Send(t.Context(), client, p.URL, ask("gpt-4o", ""), ""); o.Status == 200 {
					ok.Add(1)
				}
			}
		})
	}
	clients.Wait()
	return ok.Load()
}

func TestTheWeightsOfUpstreamsShareTheCalls(t *testing.T) {
	t.Parallel()
	var calls [2]atomic.Int64
	var broken [2]atomic.Bool
	urls := [2]string{counting(t, &calls[0], &broken[0]), counting(t, &calls[1], &broken[1])}
	p := shared(t, "[{provider: openai, weight: 1}, {provider: azure-eu, weight: 3}]", urls)
	if n := send(t, p, 1000); n != 1000 {
		t.Fatalf("%d of 1000 calls were answered", n)
	}
	// Of 1000 calls 250 are expected, with a standard deviation of 14.
	if n := calls[0].Load(); n < 180 || n > 320 || n+calls[1].Load() != 1000 {
		t.Errorf("the upstreams have %d and %d calls", n, calls[1].Load())
	}
	t.Logf("weights 1 and 3: %d and %d calls", calls[0].Load(), calls[1].Load())
	broken[1].Store(true)
	if n := send(t, p, 200); n != 200 {
		t.Errorf("one upstream is down: %d of 200 calls were answered", n)
	}
}

func TestUpstreamsInOrderLeaveAllCallsToTheFirst(t *testing.T) {
	t.Parallel()
	var calls [2]atomic.Int64
	var broken [2]atomic.Bool
	urls := [2]string{counting(t, &calls[0], &broken[0]), counting(t, &calls[1], &broken[1])}
	p := shared(t, inOrder, urls)
	if n := send(t, p, 1000); n != 1000 || calls[0].Load() != 1000 || calls[1].Load() != 0 {
		t.Errorf("%d answers, %d and %d calls", n, calls[0].Load(), calls[1].Load())
	}
	broken[0].Store(true)
	before := calls[0].Load()
	p = shared(t, inOrder, urls)
	if n := send(t, p, 1000); n != 1000 {
		t.Errorf("the first is down: %d of 1000 calls were answered", n)
	}
	tried := calls[0].Load() - before
	if tried > 100 { // its circuit opens
		t.Errorf("the first was called %d times while it was down", tried)
	}
	t.Logf("the first upstream is down: it was called %d times for 1000 calls, all of which were answered", tried)
}

// A key that is limited to one provider uses a shared model there.
func TestAKeyOfOneProviderUsesItsUpstreamOfASharedModel(t *testing.T) {
	t.Parallel()
	openai, azure := providertest.Serve(t), providertest.Serve(t)
	p := shared(t, inOrder, [2]string{openai.URL, azure.URL}, gatewaytest.JWTSecret)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"models":["azure-eu/*"]`)
	answers(azure, "fine", 1)
	a := p.Chat(t, ask("gpt-4o", ""), "X-Api-Key", key)
	if a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "azure-eu" || len(openai.Requests()) != 0 {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if a := p.Chat(t, ask("openai/gpt-4o", ""), "X-Api-Key", key); a.Status != 403 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// An upstream whose provider is not configured is left out.
func TestAnUpstreamThatIsNotConfiguredIsLeftOut(t *testing.T) {
	t.Parallel()
	azure := providertest.Serve(t)
	p := shared(t, inOrder, [2]string{"", azure.URL}, "OPENAI_API_KEY=")
	answers(azure, "fine", 1)
	if a := p.Chat(t, ask("gpt-4o", "")); a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "azure-eu" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if list := p.Get(t, "/v1/models/gpt-4o").Body; !strings.Contains(list, `"available":true`) {
		t.Errorf("%s", list)
	}
}
