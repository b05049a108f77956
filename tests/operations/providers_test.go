package operations

import (
	"testing"

	"modelgateway/api"
	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// providers are what GET /admin/providers answers with, by name.
func providers(t *testing.T, p *gatewaytest.Program, root []string) (map[string]api.Provider, api.ProviderList) {
	t.Helper()
	list := shown[api.ProviderList](t, p, "/admin/providers", root, "127.0.0.1", "localhost", "sk-first", "sk-second", "http:")
	all := map[string]api.Provider{}
	for _, one := range list.Data {
		all[one.Name] = one
	}
	return all, list
}

func TestProvidersAreShownFromTheirOwnTraffic(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[0]
	up := providertest.Serve(t, f.WholeAnswer(gatewaytest.Streaming, "hi"))
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "MAX_RETRIES=0", "FALLBACKS=gpt-4=gpt-4o",
		"OPENAI_API_KEY=sk-first-of-the-keys-0001,sk-second-of-the-keys-0002", "OPENAI_BASE_URL="+up.URL)
	root := p.Administrator(t) // a login takes longer than a key cools down
	if a := p.Chat(t, f.Request(gatewaytest.Streaming)); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	all, list := providers(t, p, root)
	openai := all["openai"]
	if !openai.Configured || openai.Status != "healthy" || openai.Type != "openai" || openai.Circuit != "closed" ||
		openai.Setting != "OPENAI_API_KEY" || openai.Simulated || list.Replica == "" || list.Data[0].Name != "openai" {
		t.Errorf("%+v", openai)
	}
	if openai.Keys[0].Models != nil {
		t.Errorf("%v", *openai.Keys[0].Models)
	}
	hour := openai.LastHour
	if hour.Calls != 1 || hour.Failed != 0 || hour.FirstToken.P50 == nil || *hour.FirstToken.P50 > 5000 || len(hour.ByMinute.Calls) != 60 ||
		hour.ByMinute.Calls[59]+hour.ByMinute.Calls[58] != 1 {
		t.Errorf("%+v", hour)
	}
	if other := all["gemini"]; other.Configured || other.Setting != "GEMINI_API_KEY" || other.Status != "unhealthy" ||
		len(other.Keys) != 0 {
		t.Errorf("%+v", other)
	}
	if len(list.Fallbacks) != 1 || list.Fallbacks[0] != (api.Fallback{From: "gpt-4", To: "gpt-4o"}) {
		t.Errorf("%+v", list.Fallbacks)
	}
	up.Play(gatewaytest.JSON(429, `{"error":{"message":"slow down"}}`))
	p.Chat(t, f.Request(""))
	all, _ = providers(t, p, root)
	openai = all["openai"]
	for _, k := range openai.Keys {
		if k.State != "cooling_down" || k.Until == nil || k.Reason != "rate limit (429)" || k.Models == nil || len(*k.Models) == 0 ||
			k.Key != "0001" && k.Key != "0002" {
			t.Errorf("%+v", k)
		}
	}
	if len(openai.Keys) != 2 || len(openai.Recent) < 2 || openai.Recent[0].Event != "key_cooling_down" || openai.LastHour.Refused == 0 {
		t.Errorf("%+v", openai)
	}
}

func TestACircuitThatOpensIsShownWithItsEnd(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Providers()[1]
	up := providertest.Serve(t, gatewaytest.JSON(500, `{}`))
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "MAX_RETRIES=0",
		"ANTHROPIC_API_KEY=sk-first-of-the-keys-0001", "ANTHROPIC_BASE_URL="+up.URL)
	root := p.Administrator(t)
	for range 10 {
		p.Chat(t, f.Request(""))
	}
	all, _ := providers(t, p, root)
	failing := all["anthropic"]
	if failing.LastHour.Failed != 10 || failing.Keys[0].Circuit != "open" || len(failing.Recent) != 1 ||
		failing.Recent[0].Event != "circuit_opened" {
		t.Errorf("%+v", failing)
	}
}

func TestTheSimulatorIsShownAsSuch(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "SIMULATOR=true")
	all, _ := providers(t, p, p.Administrator(t))
	for name, one := range all {
		if !one.Configured || !one.Simulated || len(one.Keys) != 1 || name == "anthropic" && one.Models == 0 {
			t.Errorf("%s: %+v", name, one)
		}
	}
}
