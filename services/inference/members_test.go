package inference

import (
	"strings"
	"testing"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/catalog"
)

// A compatible server may take a member that the gateway does not know for another
// model, provider or price.
func TestUnknownMembersOfALimitedCallAreRefused(t *testing.T) {
	p := answering(catalog.OpenAI, usedUp(1, 1))
	c := newFixture(t, p)
	for limited, limits := range map[string]models.Limits{
		"": {}, "limited to some models": {Models: gpt}, "paid from a budget": ofMonth(1_000_000_000),
	} {
		for _, member := range []string{`"models":["dear"]`, `"Max_Tokens":9`, `"SERVICE_TIER":"priority"`, `"plugins":[{"id":"web"}]`} {
			ask := keyed(gpt, limits)
			ask.Request = decodedText(`{"model":"` + gpt + `","messages":[{"role":"user","content":"hi"}],` + member + `}`)
			_, err := c.made(t, ask)
			if limited == "" {
				if err != nil {
					t.Errorf("%s: %v", member, err)
				}
				continue
			}
			e := refusal(t, err, 400, api.CodeUnsupportedValue)
			if !strings.HasPrefix(member, `"`+e.Param+`"`) || !strings.Contains(e.Message, limited) {
				t.Errorf("%s: %+v", member, e)
			}
		}
		ask := keyed(gpt, limits)
		ask.Request = decodedText(`{"model":"` + gpt + `","messages":[{"role":"user","content":"hi"}],"verbosity":"low","top_k":3}`)
		if _, err := c.made(t, ask); err != nil {
			t.Errorf("%s: %v", limited, err)
		}
	}
	c.idle(t, 0)
}

// OpenAI charges what is rejected of a prediction as output, beside max_tokens.
func TestPredictedAnswerIsReservedAsOutput(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(1, 1)))
	const prediction = 4000
	body := func(member string) string {
		return `{"model":"` + gpt + `","messages":[{"role":"user","content":"hi"}],"max_tokens":20,"n":2` + member + `}`
	}
	bound := func(body string) int64 {
		ask := keyed(gpt, ofMonth(1_000_000_000))
		ask.Request = decodedText(body)
		call := c.chat.call(ask)
		call.plan.Paid = true
		most, err := call.maxCost()
		if err != nil {
			t.Fatal(err)
		}
		return most
	}
	with := bound(body(`,"prediction":{"type":"content","content":"` + strings.Repeat("n", prediction) + `"}`))
	if more := with - bound(body("")); more < prediction*(30+2*60) {
		t.Errorf("%d micro-dollars more", more)
	}
}
