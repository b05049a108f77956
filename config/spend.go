package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"modelgateway/api/limit"
)

// Spend are the settings of budgets, of new keys and of users. Amounts of money are in
// micro-dollars.
type Spend struct {
	RetentionDays int    // of the ledger's rows; 0: unlimited
	MaxBudget     int64  // of the whole gateway; -1: unlimited
	BudgetWindow  string // of MaxBudget: day, week, month or total
	BudgetReserve string // expected or worst: what of the cost of a call is reserved before it
	DefaultPrice  *Price // of models without a price; nil: unset
	Keys          KeyDefaults
	Users         LimitDefaults // of users who have no such limit of their own
	AdminEmails   []string      // as written; empty: only users who were made administrators
}

// Price is in micro-dollars per million tokens.
type Price struct{ Input, Output int64 }

// KeyDefaults are the limits of a new key whose request sets none.
type KeyDefaults struct {
	ExpiryDays int // 0: never
	LimitDefaults
}

// LimitDefaults are the limits where none are set.
type LimitDefaults struct {
	Models []string // empty: all
	limit.Numbers[int64]
	Budget       int64  // -1: unlimited
	BudgetWindow string // day, week, month or total
}

const (
	maxDollars            = 1_000_000_000
	microDollarsPerDollar = 1_000_000
)

// dollars reads an amount with at most six decimals, so that it is exact in
// micro-dollars.
func dollars(into *int64) format {
	const accepts = "an amount of dollars such as 25 or 0.50"
	*into = -1
	return format{accepts, func(text string) error {
		amount, err := microDollars(text)
		if err != nil {
			return invalid(text, accepts)
		}
		*into = amount
		return nil
	}}
}

func microDollars(text string) (int64, error) {
	const decimals = 6
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" || point && fraction == "" || len(fraction) > decimals {
		return 0, errors.New("not an amount")
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil || n > maxDollars*microDollarsPerDollar {
		return 0, errors.New("too much")
	}
	return n, nil
}

// price reads input/output, in dollars per million tokens.
func price(into **Price) format {
	const accepts = "dollars per million tokens of input and of output, such as 3/15"
	return format{accepts, func(text string) error {
		input, output, _ := strings.Cut(text, "/")
		in, err := microDollars(input)
		out, outErr := microDollars(output)
		if err != nil || outErr != nil || max(in, out) > math.MaxInt32*int64(microDollarsPerDollar) {
			return invalid(text, accepts)
		}
		*into = &Price{Input: in, Output: out}
		return nil
	}}
}

func emails(into *[]string) format {
	const accepts = "e-mail addresses, comma-separated"
	return list(into, accepts, func(item string) (string, error) {
		local, domain, ok := strings.Cut(item, "@")
		if !ok || local == "" || !graphic(local) || !hostname(domain) {
			return "", errors.New("not an e-mail address") // not shown: addresses do not belong in a log
		}
		return item, nil
	})
}

func modelNames(into *[]string) format {
	const accepts = "ids of models, comma-separated"
	var seen []string
	return list(into, accepts, func(item string) (string, error) {
		if !graphic(item) {
			return "", invalid(item, "a model's id")
		}
		if slices.Contains(seen, item) {
			return "", fmt.Errorf("%s is listed twice", oneLine(item))
		}
		seen = append(seen, item)
		return item, nil
	})
}

// spending lists the settings of Spend.
func (l *loader) spending() []row {
	s := &l.Spend
	return slices.Concat([]row{
		plain("USAGE_RETENTION_DAYS", "90", whole(&s.RetentionDays, 0, 36500),
			"How long the ledger keeps the row of a call; daily sums are kept for ever; 0 keeps all rows"),
		plain("MAX_BUDGET_USD", "", dollars(&s.MaxBudget), "Budget of all calls together in each MAX_BUDGET_WINDOW; unlimited when empty"),
		plain("MAX_BUDGET_WINDOW", "month", oneOf(&s.BudgetWindow, "day", "week", "month", "total"), "Window of MAX_BUDGET_USD, in UTC"),
		plain("BUDGET_RESERVE", "expected", oneOf(&s.BudgetReserve, "expected", "worst"),
			"What a call reserves in its budgets: what such calls cost, or the most that it can cost (no budget is exceeded then)"),
		plain("DEFAULT_PRICE_USD", "", price(&s.DefaultPrice),
			"Price of models that have none; when empty they are free, and refused where a budget applies"),
		plain("DEFAULT_KEY_EXPIRY_DAYS", "0", whole(&s.Keys.ExpiryDays, 0, 36500),
			"Lifetime of a new key whose request sets none; 0 is unlimited"),
	}, limitRows("DEFAULT_KEY_", &s.Keys.LimitDefaults, limitDocs{
		models: "Models that a new key allows if its request names none; all when empty",
		number: func(n limit.Number[int64]) string {
			return n.Doc + " of a new key whose request sets no limit; 0 is " + n.Zero
		},
		budget: "Budget of a new key whose request sets none, in each DEFAULT_KEY_BUDGET_WINDOW; unlimited when empty",
	}), limitRows("DEFAULT_USER_", &s.Users, limitDocs{
		models: "Models that a user may request who has no list of models, with any key or a token; all when empty",
		number: func(n limit.Number[int64]) string {
			return n.Doc + " of a user who has no such limit, with all keys and tokens together; 0 is none"
		},
		budget: "Budget of a user who has none, with all keys and tokens together, in each DEFAULT_USER_BUDGET_WINDOW; unlimited when empty",
	}), []row{
		plain("ADMIN_EMAILS", "", emails(&s.AdminEmails),
			"Addresses whose users are administrators once the address is verified; when empty, only users who were made administrators"),
		secret("ALERT_WEBHOOK_URL", "", webhook(&l.AlertWebhook.URL),
			"URL that is told when a budget is spent to 80 % and 100 %, a provider fails and returns, or a model in use ends soon; none when empty"),
		secret("ALERT_WEBHOOK_SECRET", "", webhookSecret(&l.AlertWebhook.Key),
			"Secret that signs what ALERT_WEBHOOK_URL is sent; required with it"),
		plain("ALERT_EMAIL", "", sender(&l.AlertEmail), "E-mail address that is mailed the same; requires SMTP_URL; none when empty"),
	})
}

// limitDocs explain the settings of defaults.
type limitDocs struct {
	models, budget string
	number         func(limit.Number[int64]) string
}

// limitRows lists the settings of defaults.
func limitRows(prefix string, of *LimitDefaults, docs limitDocs) []row {
	rows := []row{plain(prefix+"MODELS", "", modelNames(&of.Models), docs.models)}
	for _, n := range of.All() {
		rows = append(rows, plain(prefix+n.Setting, "0", whole(n.Value, 0, limit.Max), docs.number(n)))
	}
	return append(rows,
		plain(prefix+"BUDGET_USD", "", dollars(&of.Budget), docs.budget),
		plain(prefix+"BUDGET_WINDOW", "month", oneOf(&of.BudgetWindow, "day", "week", "month", "total"),
			"Window of "+prefix+"BUDGET_USD, in UTC"))
}
