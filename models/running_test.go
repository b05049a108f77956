package models_test

import (
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

func TestRunningCallsOfAnExpiredLeaseMoveFromHeldToSpent(t *testing.T) {
	address := servertest.Postgres(t)
	store, db := migrated(t, address), rawDB(t, address)
	hold := models.HoldKey{Account: "key:a", Since: "2026-11-01"}
	session := models.SessionAccount("user:b", "s")
	call := models.RunningCall{
		Call: models.Call{
			ID: storetest.CallID(noon, "1"), KeyID: "a", Model: "m", InputTokens: 10, Cost: 40,
			BeganAt: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).UnixMicro(), Holds: models.Holds{
				hold, {Account: "user:b"}, {Account: "team:c"}, {Account: models.GatewayAccount}, {Account: session},
			},
		},
		Age: time.Hour, MaxOutput: 1000, MaxOutputCost: 300, TokensPerSecond: 2000,
	}
	renew(t, store, "dead", func(r *models.Renewal) { r.First, r.Running = true, []models.RunningCall{call} })
	dead := grantRequest("dead", 500)
	dead.HoldKey = hold
	granted(t, store, dead, 500+500/models.SlackDivisor, 500-500/models.SlackDivisor)
	renew(t, store, "r")
	execute(t, db, "UPDATE replicas SET alive_until = 1, ledger_until = 1 WHERE id = 'dead'")

	q := grantRequest("r")
	q.HoldKey, q.Needs = hold, []int64{600}
	left := int64(500 - 500/models.SlackDivisor)
	granted(t, store, q, left/models.SlackDivisor, left-left/models.SlackDivisor) // all of the hold still counts
	for range 2 {
		renew(t, store, "r")
		for query, want := range map[string]int64{
			"SELECT COUNT(*) FROM ledger_calls WHERE outcome = 'lost' AND cost = 340 AND output_tokens = 1000": 1,
			"SELECT COUNT(*) FROM running_calls":                                    0,
			"SELECT cost FROM spend WHERE account = 'key:a' AND day = '2026-11-21'": 340,
			"SELECT cost FROM spend WHERE account = '" + session + "'":              340,
			"SELECT moved FROM budget_holds WHERE replica = 'dead'":                 340,
		} {
			if got := number(t, db, query); got != want {
				t.Errorf("%s: %d, not %d", query, got, want)
			}
		}
	}
	q.Granted = left / models.SlackDivisor
	left = 1000 - 340 - q.Granted - 600
	granted(t, store, q, 600+left/models.SlackDivisor, left-left/models.SlackDivisor)
}
