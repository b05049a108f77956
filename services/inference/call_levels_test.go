package inference

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
)

// byTeam is a request for a model by a key of ada in the team t.
func byTeam(model string, key, user, team models.Limits) Input {
	ask := keyed(model, key)
	ask.Caller = auth.Caller{UserID: "ada", KeyID: "k", TeamID: "t", Levels: models.Levels{
		{Account: models.KeyAccount("k"), Name: "this API key", Limits: key},
		{Account: models.UserAccount("ada"), Name: "your account", Limits: user},
		{Account: models.TeamAccount("t"), Name: "the team Research", Limits: team},
	}}
	return ask
}

func TestModelMustBeAllowedAtEveryLevel(t *testing.T) {
	only := func(ids ...string) models.Limits { return models.Limits{Models: models.Names(strings.Join(ids, ","))} }
	for _, tt := range []struct {
		key, user, team models.Limits
		refusedBy       string
	}{
		{only(), only(), only(), ""},
		{only(gpt), only(gpt, haiku), only(flash, gpt), ""},
		{only(haiku), only(gpt), only(), "this API key"},
		{only(gpt), only(haiku), only(flash), "your account"},
		{only(gpt), only(), only(flash), "the team Research"},
	} {
		c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
		_, err := c.made(t, byTeam(gpt, tt.key, tt.user, tt.team))
		if tt.refusedBy == "" {
			if err != nil {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if e := refusal(t, err, 403, api.CodeModelNotAllowed); !strings.HasPrefix(e.Message, tt.refusedBy+" does not allow the model `"+gpt+"`; it allows `") {
			t.Error(e.Message)
		}
	}
}

func TestFallbackMustBeAllowedAtEveryLevel(t *testing.T) {
	o, a, g := answering(catalog.OpenAI, nil).fail(providerFault(404)), answering(catalog.Anthropic, usedUp(7, 3)),
		answering(catalog.Gemini, usedUp(7, 3))
	c := newFixture(t, o, a, g)
	c.chat.Router().Fallbacks = map[string][]string{gpt: {haiku, flash}}
	user, team := models.Limits{Models: models.Names(gpt + "," + flash + "," + haiku)}, models.Limits{Models: models.Names(flash + "," + gpt)}
	if r, err := c.made(t, byTeam(gpt, models.Limits{}, user, team)); err != nil || r.Served != flash || a.models() != "" {
		t.Errorf("%+v, %v; Anthropic was asked for %q", r, err, a.models())
	}
}

func TestCallIsPaidFromTheBudgetsOfItsLevelsAndTheGateway(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(70, 30)))
	c.chat.Budget = &budget.Budget{Account: models.GatewayAccount, Window: models.Total, Limit: microDollars, Name: "the gateway"}
	month, day := models.Month.FirstDay(c.chat.Now()), models.Day.FirstDay(c.chat.Now())
	team := models.Limits{Budget: 3 * microDollars, BudgetWindow: models.Day}
	r, err := c.made(t, byTeam(gpt, ofMonth(2*microDollars), ofMonth(4*microDollars), team))
	if want := (models.Holds{
		{Account: "key:k", Since: month}, {Account: "user:ada", Since: month}, {Account: "team:t", Since: day}, {Account: "gateway"},
	}); err != nil || r.Holds != want || r.TeamID != "t" || r.UserID != "ada" || r.KeyID != "k" {
		t.Errorf("%+v, %v", r, err)
	}
	for name, limits := range map[string][3]models.Limits{
		"this API key": {ofMonth(5), ofMonth(5), ofMonth(5)}, "your account": {{}, ofMonth(5), ofMonth(5)}, "the team Research": {{}, {}, ofMonth(5)},
	} {
		_, err := c.made(t, byTeam(gpt, limits[0], limits[1], limits[2]))
		if e := refusal(t, err, 402, api.CodeBudgetExceeded); !strings.HasPrefix(e.Message, name+" has a budget of ") {
			t.Error(e.Message)
		}
	}
	if s := c.chat.Budgets.Stats(); s.Held-s.Free != r.Cost*4 { // not in the ledger yet
		t.Errorf("%+v is reserved beside %d", s, r.Cost)
	}
}

func TestCallRefusedByTheTeamTakesNothingOfTheKey(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(7, 3)))
	key := ofMonth(microDollars)
	key.MaxParallel, key.TPMLimit = 5, 100_000
	_, err := c.made(t, byTeam(gpt, key, models.Limits{}, models.Limits{Numbers: models.Numbers{TPMLimit: 1}}))
	if err != nil { // alone in its minute it may take more than the limit
		t.Fatal(err)
	}
	_, err = c.made(t, byTeam(gpt, key, models.Limits{}, models.Limits{Numbers: models.Numbers{TPMLimit: 1}}))
	if e := refusal(t, err, 429, api.CodeRateLimitExceeded); !strings.Contains(e.Message, "the limit of the team Research is 1 tokens a minute") {
		t.Error(e.Message)
	}
	c.idle(t, 10)
}

func TestCallOfATeamsOwnKeyHasNoUser(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(70, 30)))
	ask := byTeam(gpt, models.Limits{}, models.Limits{}, ofMonth(microDollars))
	ask.Caller.UserID, ask.Caller.Levels = "", append(ask.Caller.Levels[:1:1], ask.Caller.Levels[2])
	r, err := c.made(t, ask)
	if want := (models.Holds{{Account: "team:t", Since: models.Month.FirstDay(c.chat.Now())}}); err != nil || r.Holds != want ||
		r.UserID != "" || r.TeamID != "t" {
		t.Errorf("%+v, %v", r, err)
	}
}
