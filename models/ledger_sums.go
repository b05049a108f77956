package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

var usageRows = newBulkInsert("usage_days",
	[]string{"day", "user_id", "key_id", "model", "provider"}, nil,
	[]string{"calls", "failed", "estimated", "unpriced",
		"input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost"},
	`ON CONFLICT (day, user_id, key_id, model, provider) DO UPDATE SET
	calls = usage_days.calls + excluded.calls,
	failed = usage_days.failed + excluded.failed,
	estimated = usage_days.estimated + excluded.estimated,
	unpriced = usage_days.unpriced + excluded.unpriced,
	input_tokens = usage_days.input_tokens + excluded.input_tokens,
	cached_tokens = usage_days.cached_tokens + excluded.cached_tokens,
	cache_write_tokens = usage_days.cache_write_tokens + excluded.cache_write_tokens,
	output_tokens = usage_days.output_tokens + excluded.output_tokens,
	reasoning_tokens = usage_days.reasoning_tokens + excluded.reasoning_tokens,
	cost = usage_days.cost + excluded.cost`)

var spendRows = newBulkInsert("spend", []string{"account", "day"}, nil, []string{"cost"},
	"ON CONFLICT (account, day) DO UPDATE SET cost = spend.cost + excluded.cost")

// sums are the sums of a batch of calls.
type sums struct {
	usage map[usageKey]*[]minuteTally
	spent map[spendKey]int64
	moved map[HoldKey]int64
}

// usageKey has the day as a number of days since 1970: formatting a date costs
// more than the rest of a call's sums.
type usageKey struct {
	day int64
	UsageGroup
}

type spendKey struct {
	account string
	day     int64
}

func sum(calls []Call) sums {
	s := sums{usage: map[usageKey]*[]minuteTally{}, spent: map[spendKey]int64{}, moved: map[HoldKey]int64{}}
	for i := range calls {
		c := &calls[i]
		day := c.BeganAt / (24 * time.Hour).Microseconds()
		key := usageKey{day, c.usageGroup()}
		of := s.usage[key]
		if of == nil {
			of = &[]minuteTally{}
			s.usage[key] = of
		}
		tallyOf(of, c.BeganAt/time.Minute.Microseconds()).addCall(c)
		if c.Cost == 0 {
			continue
		}
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

// write adds the sums to those of the database. All replicas lock the rows in the
// same order, or their transactions could deadlock.
func (s *sums) write(on connTx) error {
	usage := slices.SortedFunc(maps.Keys(s.usage), func(a, b usageKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), a.compare(b.UsageGroup))
	})
	err := usageRows.upsert(on, bulkRows{len(usage), func(i int, r *bulkRow) {
		k := usage[i]
		var of Sum
		for _, minute := range *s.usage[k] {
			of.Add(&minute.Sum)
		}
		r.texts = append(r.texts, formatDay(k.day), k.User, k.Key, k.Model, k.Provider)
		for _, n := range of.numbers() {
			r.numbers = append(r.numbers, *n)
		}
	}})
	if err != nil {
		return fmt.Errorf("usage of days: %w", err)
	}
	if len(s.spent) == 0 {
		return nil
	}
	spent := slices.SortedFunc(maps.Keys(s.spent), func(a, b spendKey) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.day, b.day))
	})
	err = spendRows.upsert(on, bulkRows{len(spent), func(i int, r *bulkRow) {
		r.texts = append(r.texts, spent[i].account, formatDay(spent[i].day))
		r.numbers = append(r.numbers, s.spent[spent[i]])
	}})
	if err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	return nil
}

// usageGroup is whose calls the call is summed with.
func (c *Call) usageGroup() UsageGroup {
	return UsageGroup{c.UserID, c.KeyID, cmp.Or(c.Served, c.Model), c.Provider}
}

func formatDay(day int64) string { return DayOf(time.Unix(day*int64(24*time.Hour/time.Second), 0)) }
