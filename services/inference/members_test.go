package inference

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/models"
)

// A compatible server may take a member that the gateway does not know for another
// model, provider or price.
func TestUnknownMembersOfALimitedCallAreRefused(t *testing.T) {
	p := answering(catalog.OpenAI, usedUp(1, 1))
	c := newFixture(t, p)
	for limited, limits := range map[string]models.Limits{
		"": {}, "limited to some models": {Models: gpt}, "paid from a budget": ofMonth(1_000_000_000),
	} {
		for _, member := range []string{`"models":["dear"]`, `"Max_Tokens":9`, `"SERVICE_TIER":"priority"`, `"plugins":[{"id":"web"}]`, `"max_token":9`} {
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
			if strings.HasPrefix(member, `"max_token"`) && !strings.HasSuffix(e.Message, "; did you mean `max_tokens`?") {
				t.Errorf("%s: %s", member, e.Message)
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

const spoken = `{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"//uQZAAAAAAA","format":"mp3"}}]}]}`

func TestSoundsAreReservedAndBookedAtTheirPrice(t *testing.T) {
	usage := usedUp(1000, 10)
	for name, tt := range map[string]struct {
		split bool
		cost  int64
	}{
		"the provider counts sounds": {true, (300*30 + 700*100 + 10*250) / 100},
		"it does not":                {false, (1000*100 + 10*250) / 100},
	} {
		usage := *usage
		usage.HasAudio, usage.Audio = tt.split, 700
		c := newFixture(t, answering(catalog.Gemini, &usage))
		ask := keyed(flash, ofMonth(1_000_000_000))
		ask.Request = decodedText(strings.Replace(spoken, `"m"`, `"`+flash+`"`, 1))
		r, err := c.made(t, ask)
		if err != nil || r.Cost != tt.cost {
			t.Errorf("%s: %d, not %d: %v", name, r.Cost, tt.cost, err)
		}
	}
	c := newFixture(t, answering(catalog.Gemini, usage), answering(catalog.OpenAI, usage))
	text := decodedText(strings.Replace(spoken, `"input_audio","input_audio":{"data":"//uQZAAAAAAA","format":"mp3"}`, `"text","text":"/uQZAAAAAAA"`, 1))
	bound := func(ask Input) int64 {
		call := c.chat.call(ask)
		call.plan.Paid = true
		most, err := bound(call)
		if err != nil {
			t.Fatal(err)
		}
		return most
	}
	ask, written := keyed(flash, ofMonth(1_000_000_000)), keyed(flash, ofMonth(1_000_000_000))
	ask.Request, written.Request = decodedText(spoken), text
	ask.Request.Model, text.Model = flash, flash
	ask.Request.OutputLimit, text.OutputLimit = 1, 1
	if with, without := bound(ask), bound(written); with < without*3 {
		t.Errorf("%d are reserved for a sound, %d for text", with, without)
	}
	ask = keyed(gpt, ofMonth(1_000_000_000))
	ask.Request = decodedText(strings.Replace(spoken, `"m"`, `"`+gpt+`"`, 1))
	_, err := c.made(t, ask)
	if e := refusal(t, err, 400, api.CodeUnsupportedValue); e.Param != "messages[].content[]" ||
		!strings.Contains(e.Message, "no price for audio") {
		t.Errorf("%+v", e)
	}
	ask.Caller = ofKey("k", models.Limits{})
	if _, err := c.made(t, ask); err != nil {
		t.Errorf("without a budget: %v", err)
	}
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
		most, err := bound(call)
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
