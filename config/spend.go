package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Spend is what the operator decided about money and limits. Money is in
// micro-dollars.
type Spend struct {
	RetentionDays int    // of the ledger's rows; 0: for ever
	MaxBudget     int64  // of the whole gateway; -1: none
	BudgetWindow  string // of MaxBudget: day, week, month or total
	DefaultPrice  *Price // of models without a price; nil: they have none
	Keys          KeyDefaults
	AdminEmails   []string // as written; none: there are no administrators
}

// Price is in micro-dollars per million tokens.
type Price struct{ Input, Output int64 }

// KeyDefaults are the limits of a new key that names none itself.
type KeyDefaults struct {
	ExpiryDays   int      // 0: never
	Models       []string // none: all
	RPM          int64    // 0: the gateway's own
	TPM          int64    // 0: any number
	MaxParallel  int64    // 0: any number
	Budget       int64    // -1: none
	BudgetWindow string
}

const (
	mostDollars = 1_000_000_000
	microDollar = 1_000_000 // in a dollar
)

// dollars reads an amount of at most six decimals, which is exact in
// micro-dollars.
func dollars(into *int64) kind {
	const want = "an amount of dollars such as 25 or 0.50"
	*into = -1
	return kind{want, func(text string) error {
		amount, err := microDollars(text)
		if err != nil {
			return refused(text, want)
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
	if err != nil || n > mostDollars*microDollar {
		return 0, errors.New("too much")
	}
	return n, nil
}

// price reads input/output, in dollars per million tokens.
func price(into **Price) kind {
	const want = "dollars per million tokens of input and of output, such as 3/15"
	return kind{want, func(text string) error {
		input, output, _ := strings.Cut(text, "/")
		in, err := microDollars(input)
		out, outErr := microDollars(output)
		if err != nil || outErr != nil || in > math.MaxInt32*int64(microDollar) || out > math.MaxInt32*int64(microDollar) {
			return refused(text, want)
		}
		*into = &Price{Input: in, Output: out}
		return nil
	}}
}

func emails(into *[]string) kind {
	const want = "e-mail addresses, comma-separated"
	return list(into, want, func(item string) (string, error) {
		local, domain, ok := strings.Cut(item, "@")
		if !ok || local == "" || !graphic(local) || !hostname(domain) {
			return "", errors.New("not an e-mail address") // which are nobody's business in a log
		}
		return item, nil
	})
}

func modelNames(into *[]string) kind {
	const want = "ids of models, comma-separated"
	var seen []string
	return list(into, want, func(item string) (string, error) {
		if !graphic(item) {
			return "", refused(item, "a model's id")
		}
		if slices.Contains(seen, item) {
			return "", fmt.Errorf("%s is listed twice", oneLine(item))
		}
		seen = append(seen, item)
		return item, nil
	})
}

// spending is the settings of Spend.
func (l *loader) spending() []row {
	const mostCount = 1_000_000_000
	s := &l.Spend
	return []row{
		plain("USAGE_RETENTION_DAYS", "90", whole(&s.RetentionDays, 0, 36500), "How long each call's row of the ledger is kept; the sums by day stay; 0 is for ever"),
		plain("MAX_BUDGET_USD", "", dollars(&s.MaxBudget), "What all calls together may cost in each MAX_BUDGET_WINDOW; any amount when empty"),
		plain("MAX_BUDGET_WINDOW", "month", oneOf(&s.BudgetWindow, "day", "week", "month", "total"), "How long MAX_BUDGET_USD lasts, in UTC"),
		plain("DEFAULT_PRICE_USD", "", price(&s.DefaultPrice), "What models without a price cost; when empty they cost nothing, and are refused where there is a budget"),
		plain("DEFAULT_KEY_EXPIRY_DAYS", "0", whole(&s.Keys.ExpiryDays, 0, 36500), "How long a new key lasts that does not say so itself; 0 is for ever"),
		plain("DEFAULT_KEY_MODELS", "", modelNames(&s.Keys.Models), "Which models a new key may ask for that does not say so itself; all when empty"),
		plain("DEFAULT_KEY_RPM", "0", whole(&s.Keys.RPM, 0, mostCount), "Requests a minute of such a key; 0 is RATE_LIMIT_RPM"),
		plain("DEFAULT_KEY_TPM", "0", whole(&s.Keys.TPM, 0, mostCount), "Tokens a minute of such a key; 0 is any number"),
		plain("DEFAULT_KEY_MAX_PARALLEL", "0", whole(&s.Keys.MaxParallel, 0, mostCount), "Calls at once of such a key; 0 is any number"),
		plain("DEFAULT_KEY_BUDGET_USD", "", dollars(&s.Keys.Budget), "What such a key may spend in each DEFAULT_KEY_BUDGET_WINDOW; any amount when empty"),
		plain("DEFAULT_KEY_BUDGET_WINDOW", "month", oneOf(&s.Keys.BudgetWindow, "day", "week", "month", "total"), "How long that budget lasts, in UTC"),
		plain("ADMIN_EMAILS", "", emails(&s.AdminEmails), "Which users see and limit everybody's keys; nobody when empty"),
	}
}
