package operations

import (
	"testing"

	"modelgateway/api"
	"modelgateway/tests/gatewaytest"
)

func TestModelsSayWhyTheyAreNotAvailable(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "ANTHROPIC_API_KEY=sk-canary", "MODEL_ALIASES=fast=claude-haiku-4-5-20251001")
	token := p.Login(t)
	_, key := p.CreateLimitedKey(t, token, `"models":["claude-haiku-4-5-20251001"]`)
	var list api.ModelList
	p.Call(t, "GET", "/v1/models", "", "Authorization", "Bearer "+key).JSON(t, &list)
	all := map[string]api.Model{}
	reasons := map[string]bool{}
	for _, m := range list.Data {
		all[m.ID] = m
		reasons[m.Unavailable] = true
		if (m.Unavailable == "") != m.Available {
			t.Errorf("%s: available %t, %q", m.ID, m.Available, m.Unavailable)
		}
		if m.Unavailable == "not_configured" && (m.Setting == "" || m.ProviderStatus != "") {
			t.Errorf("%+v", m)
		}
	}
	if !reasons["not_allowed"] || list.PricesDate == "" {
		t.Errorf("%v, %q", reasons, list.PricesDate)
	}
	haiku := all["claude-haiku-4-5-20251001"]
	if len(haiku.Aliases) != 1 || haiku.Aliases[0] != "fast" || haiku.ProviderStatus != "healthy" || haiku.Setting != "" {
		t.Errorf("%+v", haiku)
	}
	var gemini api.Model
	a := p.Call(t, "GET", "/v1/models/gemini-2.5-flash", "", "Authorization", "Bearer "+key)
	if a.JSON(t, &gemini); gemini.Unavailable != "not_configured" || gemini.Setting != "GEMINI_API_KEY" || gemini.ProviderStatus != "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
