package providers

import (
	"strings"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/tests/gatewaytest"
)

func TestOneKeyIsEnoughForEveryModelThatItsProviderSells(t *testing.T) {
	c, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	upstream := simulatortest.Start(t, simulator.Options{})
	for provider, least := range map[string]int{"openai": 35, "anthropic": 12, "gemini": 12} {
		t.Run(provider, func(t *testing.T) {
			prefix, file := strings.ToUpper(provider), t.TempDir()+"/gateway.db"
			p := gatewaytest.Start(t, prefix+"_API_KEY=sk-x", prefix+"_BASE_URL="+upstream.URL, "DATABASE_URL=sqlite:"+file,
				"REQUIRE_AUTH=true", gatewaytest.JWTSecret)
			token := p.Login(t)
			_, key := p.CreateLimitedKey(t, token, `"budget_usd":1000`)
			called := 0
			for _, m := range c.Sold() {
				if m.Provider != provider || m.State(time.Now()) == catalog.Retired || m.Kind != llm.KindChat {
					continue
				}
				called++
				a := p.Call(t, "POST", "/v1/chat/completions", `{"model":"`+m.ID+`",`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+key)
				if a.Status != 200 {
					t.Errorf("%s: %d %s", m.ID, a.Status, a.Body)
				}
			}
			if called < least {
				t.Errorf("%d models were called", called)
			}
			db := gatewaytest.OpenSQL(t, "sqlite:"+file)
			gatewaytest.Until(t, "every call has a cost in the ledger", func() bool {
				return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE status = 200 AND cost > 0 AND priced") == int64(called)
			})
			if a := p.Call(t, "GET", "/v1/usage", "", "Authorization", "Bearer "+key); a.Status != 200 || !strings.Contains(a.Body, `"cost_usd"`) {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
}
