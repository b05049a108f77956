package inference

import (
	"testing"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/routing"
)

// painting is a call of a model that is paid by request and image beside its tokens, and its price.
func painting(t *testing.T, body string) (*Call, *catalog.Model, catalog.Price) {
	t.Helper()
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	ask := keyed(gpt, ofMonth(100_000_000))
	ask.Request = decoded(t, body)
	known, err := c.chat.Router().Models.Resolve(gpt)
	if err != nil {
		t.Fatal(err)
	}
	model := *known
	model.Price.Rates[catalog.Requests], model.Price.Rates[catalog.Images] = 10_000_000_000, 40_000_000_000
	call := c.chat.call(ask)
	call.plan.Paid = true
	return call, &model, model.Price
}

func TestWhatIsPaidEachIsExpectedBesideWhatPromptsHaveCost(t *testing.T) {
	call, model, price := painting(t, `{"model":"gpt-4","n":2,"messages":[{"role":"user","content":"hi"}]}`)
	call.row.Outcome, call.most.cost = models.OutcomeOK, microDollars
	bounds := call.bounds(model, 0)
	fresh := call.expect(model, price, bounds)
	for range 60 {
		call.remember(model, price, call.amounts(model, price, &llm.Usage{Input: 10, Output: 5}, 2))
	}
	learned := call.expect(model, price, bounds)
	if fresh.fee != 10_000+2*40_000 || learned.fee != fresh.fee || learned.input > 2000 || learned.output >= fresh.output {
		t.Errorf("%+v, and then %+v", fresh, learned)
	}
	if call.images = 5; call.expect(model, price, bounds).fee != 10_000+5*40_000 {
		t.Error("images that have come are not expected")
	}
}

func TestALostAnswerMayHaveHadAsManyImagesAsPossible(t *testing.T) {
	call, model, _ := painting(t, `{"model":"gpt-4","n":2,"messages":[{"role":"user","content":"hi"}]}`)
	for endless, want := range map[bool]int64{true: 2 * maxImages, false: 0} {
		if _, images := call.lost(routing.Lost{Model: model, Endless: endless}); images != want {
			t.Errorf("endless: %v: %d images", endless, images)
		}
	}
	call.charge(model, &llm.Usage{Input: 10, Output: 5, CacheWrite: 3, CacheWriteHour: 8}, 2)
	r := &call.row
	// 10 × 30 + 5 × 60 + 10,000 + 2 × 40,000
	if r.Requests != 1 || r.Images != 2 || r.Cost != 300+300+10_000+80_000 || r.CacheWriteHourTokens != 3 || r.Characters != 0 {
		t.Errorf("%+v", r)
	}
}
