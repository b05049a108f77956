package inference

import (
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// speaking is a provider that takes requests of the Messages API as they are.
type speaking struct{ *scripted }

func (speaking) Abilities() providers.Abilities { return providers.Abilities{Speaks: ofMessages} }

// message is a request of the Messages API with further members.
func message(t testing.TB, model, members string) *llm.Request {
	t.Helper()
	req, err := messages.Decode(nil, []byte(`{"model":"`+model+`","max_tokens":10,"messages":[{"role":"user","content":"hi"}]`+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// The vendor refuses what it does not know, and charges nothing for it. A server that
// copies its API may take it for another model.
func TestNewMembersOfALimitedCallGoToTheVendorOnly(t *testing.T) {
	c := newFixture(t, answering(catalog.Anthropic, usedUp(1, 1)))
	own := pool.NewUpstream(catalog.Anthropic, speaking{answering(catalog.Anthropic, usedUp(1, 1))}, poolOf("k1"), time.Now)
	c.chat.Router().Upstreams[catalog.Anthropic] = own
	for _, vendor := range []bool{true, false} {
		own.Vendor = vendor
		for member, foreign := range map[string]string{
			`,"novel":{"a":1}`: "novel", `,"Model":"dear"`: "Model", `,"fallbacks":[{"model":"dear"}]`: "", `,"context_management":{"edits":[]}`: "-",
		} {
			for name, limits := range map[string]models.Limits{"": {}, "some models": {Models: haiku}, "a budget": ofMonth(1_000_000_000)} {
				ask := keyed(haiku, limits)
				ask.Request = message(t, haiku, member)
				_, err := c.made(t, ask)
				if name == "" || foreign == "-" || vendor && foreign != "" {
					if err != nil {
						t.Errorf("vendor %v, %s, %s: %v", vendor, name, member, err)
					}
					continue
				}
				e := refusal(t, err, 400, api.CodeUnsupportedValue)
				if !strings.HasPrefix(member, `,"`+e.Param+`"`) {
					t.Errorf("vendor %v, %s, %s: %+v", vendor, name, member, e)
				}
			}
		}
	}
}

func TestWhatCostsBesideTokensIsReservedOrRefused(t *testing.T) {
	c := newFixture(t, answering(catalog.Anthropic, usedUp(1, 1)))
	other := c.chat.Router().Upstreams[catalog.Anthropic]
	own := pool.NewUpstream(catalog.Anthropic, speaking{answering(catalog.Anthropic, usedUp(1, 1))}, poolOf("k1"), time.Now)
	own.Vendor = true
	c.chat.Router().Upstreams[catalog.Anthropic] = own
	bound := func(model, members string) (int64, error) {
		ask := keyed(model, ofMonth(1_000_000_000))
		ask.Request = message(t, model, members)
		call := c.chat.call(ask)
		call.plan.Paid = true
		return bound(call)
	}
	const tools = `,"tools":[{"type":"web_search_20250305","name":"web_search"`
	with, err := bound(haiku, tools+`,"max_uses":3}]`)
	if err != nil {
		t.Fatal(err)
	}
	more, err := bound(haiku, tools+`,"max_uses":5}]`)
	if fee := int64(10_000); err != nil || more-with != 2*fee { // 10 dollars for 1,000 searches
		t.Errorf("%d micro-dollars for two searches: %v", more-with, err)
	}
	// Only a provider that speaks the dialect gets the tools that it would run: for another one
	// neither their fee is reserved nor what they would find, which may fill the context.
	c.chat.Router().Upstreams[catalog.Anthropic] = other
	few, err := bound(haiku, tools+`,"max_uses":1}]`)
	if err != nil {
		t.Fatal(err)
	}
	if most, err := bound(haiku, tools+`}]`); err != nil || most > few || few > 5_000 {
		t.Errorf("%d and %d micro-dollars: %v", few, most, err)
	}
	c.chat.Router().Upstreams[catalog.Anthropic] = own
	for member, param := range map[string]string{
		tools + `}]`: "tools[0].max_uses", `,"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`: "tools[0].type",
		`,"speed":"fast"`: "speed", `,"inference_geo":"us"`: "inference_geo", `,"service_tier":"gold"`: "service_tier",
	} {
		_, err := bound("dear-a", member)
		if e := refusal(t, err, 400, api.CodeUnsupportedValue); e.Param != param {
			t.Errorf("%s: %+v", member, e)
		}
	}
}
