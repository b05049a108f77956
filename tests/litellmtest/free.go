package litellmtest

import "testing"

// FreeKey returns a key without limits that may call every model, as may those whose it is: a user with an account, a team, or both. A
// user's budget may be half spent.
func (c *Company) FreeKey(t testing.TB, ofUser, ofTeam bool) *Key {
	t.Helper()
	free := map[string]bool{"": true} // ids
	for i, u := range c.Users {
		free[u.ID] = u.RPM == 0 && len(u.Models) == 0 && (i < 17 || i > 23) // those between have no address of their own
	}
	for _, team := range c.Teams {
		free[team.ID] = team.free() && len(team.Models) == 0 && !team.Blocked
	}
	for _, k := range c.Keys[12:] { // those before have what a takeover loses
		if k.free() && len(k.Models) == 0 && !k.Blocked && k.BudgetID == "" && k.Expires.IsZero() &&
			(k.UserID != "") == ofUser && (k.TeamID != "") == ofTeam && free[k.UserID] && free[k.TeamID] {
			return k
		}
	}
	t.Fatalf("no such key: of a user %t, of a team %t", ofUser, ofTeam)
	return nil
}

func (b *Budget) free() bool { return b.Max == 0 && b.RPM == 0 && b.TPM == 0 && b.Parallel == 0 }
