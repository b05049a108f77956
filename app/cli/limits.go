package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/models"
)

// limitFlags adds the flags of limits to a command, with the names of the API's
// members. What is wrong with a value by itself is wrong usage; the services check the
// rest.
func limitFlags(c *cobra.Command) *api.KeyLimits {
	l := new(api.KeyLimits)
	add := func(member string, read func(string) error, form, usage string) {
		c.Flags().Var(textFlag{form, read}, strings.ReplaceAll(member, "_", "-"), usage+"; none removes it")
	}
	add("budget_usd", field(&l.Budget, readUSD), "dollars", "budget in each window")
	add("budget_window", field(&l.BudgetWindow, readText), "window", "day, week, month (default) or total")
	add("budget_extra_usd", field(&l.BudgetExtra, readUSD), "dollars", "raise the budget by this until --budget-extra-until")
	add("budget_extra_until", field(&l.ExtraUntil, readTime), "time", "end of what --budget-extra-usd adds, as --expires-at")
	add("session_budget_usd", field(&l.SessionBudget, readUSD), "dollars", "what each session of a client may cost")
	add("budget_reserve", field(&l.BudgetReserve, readText), "reserve", "worst: reserve the most that a call can cost (none: as BUDGET_RESERVE says)")
	for _, number := range l.All() {
		doc := strings.ToLower(number.Doc[:1]) + number.Doc[1:]
		add(number.Name, field(number.Value, readNumber), "number", doc)
	}
	add("models", field(&l.Models, readList), "names", "models that may be called, with commas between")
	add("expires_at", field(&l.ExpiresAt, readTime), "time", "end: a day such as 2026-12-31, a time such as 2026-12-31T18:00:00+01:00, or from now as in 30d or 12h")
	return l
}

// changesLimits is a command that changes the limits of the one that its argument names.
// change returns what has them, for --json and in words.
func (p *Program) changesLimits(
	c *cobra.Command, change func(ctx context.Context, s *session, name string, limits api.KeyLimits) (shown any, words string, err error),
) *cobra.Command {
	o := p.output(c, "print nothing")
	limits := limitFlags(c)
	return p.action(c, p.writes(o, func(ctx context.Context, s *session, args []string) error {
		if !limits.Any() {
			return errNoLimit
		}
		s.discover(ctx, limits)
		shown, words, err := change(ctx, s, args[0], *limits)
		if err != nil {
			return err
		}
		return o.done(shown, words)
	}))
}

// textFlag is a flag whose text a function reads.
type textFlag struct {
	form string
	read func(string) error
}

func (f textFlag) Set(text string) error { return f.read(text) }

func (f textFlag) String() string { return "" }

// Type is shown by the help.
func (f textFlag) Type() string { return f.form }

// field reads a member of the API; "none" is its null.
func field[T any](into *api.Field[T], read func(string) (T, error)) func(string) error {
	return func(text string) error {
		into.Named, into.Value = true, nil
		if text == "none" {
			return nil
		}
		value, err := read(text)
		into.Value = &value
		return err
	}
}

func readText(text string) (string, error) { return text, nil }

func readList(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

func readUSD(text string) (api.USD, error) {
	var amount api.USD
	err := amount.UnmarshalJSON([]byte(strings.TrimPrefix(text, "$")))
	return amount, err
}

func readNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

// readTime returns Unix seconds. A day is its beginning in the local time zone.
func readTime(text string) (int64, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil {
			return time.Now().AddDate(0, 0, n).Unix(), nil
		}
	}
	if from, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(from).Unix(), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day.Unix(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("must be as in 2026-12-31, 2026-12-31T18:00:00Z, 30d or 12h")
	}
	return at.Unix(), nil
}

// budget is a budget in words, such as $50.00 a month.
func budget(l *api.Limits) string {
	text := none
	if l.Budget != nil {
		text = dollars(*l.Budget)
		if window := *l.BudgetWindow; window != string(models.Total) {
			text += " a " + window
		}
	}
	if l.BudgetExtra == nil || *l.ExtraUntil <= time.Now().Unix() {
		return text
	}
	if l.Budget == nil {
		text = "the default budget"
	}
	return text + " and " + dollars(*l.BudgetExtra) + " more until " + local(*l.ExtraUntil)
}

// limitWords are limits in words.
func limitWords(l *api.Limits) string {
	var all []string
	if text := budget(l); text != none {
		all = append(all, text)
	}
	if l.SessionBudget != nil {
		all = append(all, dollars(*l.SessionBudget)+" a session")
	}
	for _, number := range l.All() {
		if n := *number.Value; n != nil {
			all = append(all, thousands(*n)+" "+strings.ToLower(number.Doc))
		}
	}
	if l.Models != nil {
		all = append(all, "only "+strings.Join(*l.Models, ", "))
	}
	if l.ExpiresAt != nil {
		all = append(all, "until "+local(*l.ExpiresAt))
	}
	if len(all) == 0 {
		return "no limits"
	}
	return strings.Join(all, "; ")
}
