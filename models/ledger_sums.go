package models

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
)

var spendRows = newBulkInsert("spend", []string{"account", "day"}, nil, []string{"cost"},
	"ON CONFLICT (account, day) DO UPDATE SET cost = spend.cost + excluded.cost")

// sums are the sums of a batch of calls.
type sums struct {
	usage map[UsageGroup]*[]minuteTally
	spent map[spendKey]int64
	moved map[HoldKey]int64
}

// spendKey has the day as a number of days since 1970: formatting a date costs
// more than the rest of a call's sums.
type spendKey struct {
	account string
	day     int64
}

// sum sums calls, for the tables of the former release or for those of this one.
func sum(calls []Call, former bool) sums {
	s := sums{usage: map[UsageGroup]*[]minuteTally{}, spent: map[spendKey]int64{}, moved: map[HoldKey]int64{}}
	for i := range calls {
		c := &calls[i]
		group := c.usageGroup()
		if former {
			group = UsageGroup{User: group.User, Key: group.Key, Model: group.Model, Provider: group.Provider}
		}
		of := s.usage[group]
		if of == nil {
			of = &[]minuteTally{}
			s.usage[group] = of
		}
		tallyOf(of, c.BeganAt/time.Minute.Microseconds()).addCall(c)
		if c.Cost == 0 {
			continue
		}
		day := c.BeganAt / (24 * time.Hour).Microseconds()
		s.spent[spendKey{GatewayAccount, day}] += c.Cost
		if c.KeyID != "" {
			s.spent[spendKey{KeyAccount(c.KeyID), day}] += c.Cost
		}
		if c.UserID != "" {
			s.spent[spendKey{UserAccount(c.UserID), day}] += c.Cost
		}
		if c.TeamID != "" {
			s.spent[spendKey{TeamAccount(c.TeamID), day}] += c.Cost
		}
		for _, hold := range c.Holds {
			if strings.HasPrefix(hold.Account, sessionAccounts) {
				s.spent[spendKey{hold.Account, day}] += c.Cost
			}
		}
		c.AddCost(s.moved)
	}
	return s
}

// AddCost adds the cost of a call to each of the holds that it is paid from.
func (c *Call) AddCost(by map[HoldKey]int64) {
	for _, hold := range c.Holds {
		if hold.Account != "" && c.Cost != 0 {
			by[hold] += c.Cost
		}
	}
}

// writeSpent adds to what accounts have spent. All replicas lock the rows in the
// same order, or their transactions could deadlock.
func (s *sums) writeSpent(on connTx) error {
	if len(s.spent) == 0 {
		return nil
	}
	spent := slices.SortedFunc(maps.Keys(s.spent), func(a, b spendKey) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.day, b.day))
	})
	err := spendRows.upsert(on, bulkRows{len(spent), func(i int, r *bulkRow) {
		r.texts = append(r.texts, spent[i].account, formatDay(spent[i].day))
		r.numbers = append(r.numbers, s.spent[spent[i]])
	}})
	if err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	return nil
}

// DeleteSessionSpend deletes what sessions have spent that have had no call since a time, and returns how
// many rows: at most limit.
func (s *Store) DeleteSessionSpend(ctx context.Context, since time.Time, limit int) (n int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		done := db.Exec(`DELETE FROM spend WHERE (account, day) IN (SELECT account, day FROM spend AS old
			WHERE substr(account, 1, 8) = 'session:' AND day < @since
			AND NOT EXISTS (SELECT 1 FROM spend AS later WHERE later.account = old.account AND later.day >= @since) LIMIT @limit)`,
			map[string]any{"since": DayOf(since), "limit": limit})
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}

// usageGroup is whose calls the call is summed with.
func (c *Call) usageGroup() UsageGroup {
	return UsageGroup{c.UserID, c.KeyID, cmp.Or(c.Served, c.Model), c.Provider, c.TeamID, c.Project, c.Agent}
}

func formatDay(day int64) string { return DayOf(time.Unix(day*int64(24*time.Hour/time.Second), 0)) }
