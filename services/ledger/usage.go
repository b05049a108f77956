package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"modelgateway/models"
	"modelgateway/models/api"
)

const (
	usageGroups      = 10_000
	usageDays        = 366
	usageDefaultDays = 30
)

// UsageRequest selects usage, as the client wrote it; empty fields mean defaults.
type UsageRequest struct {
	From, To             string // days, both included
	GroupBy              string // with commas
	UserID, KeyID, Model string // only of these
}

// UsageReport is the usage of some days.
type UsageReport struct {
	From, To string // days, both included
	By       []models.UsageBy
	Rows     []models.Usage // by day, user, key, model and provider
	Total    models.Sum
}

// Usage reports usage from the sums of the ledger, which lag behind the calls by
// a moment.
type Usage struct {
	store  *models.Store
	now    func() time.Time
	groups int // in one answer
}

// NewUsage makes a Usage that reads the ledger in store.
func NewUsage(store *models.Store, now func() time.Time) *Usage {
	return &Usage{store: store, now: now, groups: usageGroups}
}

// Own reports the usage of a caller: that of a user with all their keys, or of one
// key.
func (u *Usage) Own(ctx context.Context, userID, keyID string, req UsageRequest) (*UsageReport, error) {
	if userID == "" && keyID == "" {
		return nil, api.Unauthorized(api.CodeMissingCredentials, "usage belongs to a caller: send the token of a login or an API key")
	}
	q, err := u.query(req, models.ByDay, models.ByKey, models.ByModel)
	if err != nil {
		return nil, err
	}
	q.UserID, q.KeyID = userID, keyID
	return u.report(ctx, q)
}

// All reports the usage of all callers.
func (u *Usage) All(ctx context.Context, req UsageRequest) (*UsageReport, error) {
	q, err := u.query(req, models.ByDay, models.ByUser, models.ByKey, models.ByModel)
	if err != nil {
		return nil, err
	}
	for _, only := range []struct {
		param, value string
		into         *string
	}{{"user_id", req.UserID, &q.UserID}, {"key_id", req.KeyID, &q.KeyID}, {"model", req.Model, &q.ModelID}} {
		const longest = 256
		if len(only.value) > longest || !utf8.ValidString(only.value) || strings.Contains(only.value, "\x00") {
			return nil, api.Invalid(api.CodeInvalidValue, only.param, "%s cannot be that of anything", only.param)
		}
		*only.into = only.value
	}
	return u.report(ctx, q)
}

func (u *Usage) query(req UsageRequest, groups ...models.UsageBy) (models.UsageQuery, error) {
	q := models.UsageQuery{By: []models.UsageBy{models.ByDay}, MaxGroups: u.groups}
	var err error
	if q.From, q.To, err = u.days(req); err != nil || req.GroupBy == "" {
		return q, err
	}
	q.By = nil
	for word := range strings.SplitSeq(req.GroupBy, ",") {
		by := models.UsageBy(word)
		if !slices.Contains(groups, by) || slices.Contains(q.By, by) {
			return q, api.Invalid(api.CodeInvalidValue, "group_by",
				"group_by must be one or more of %s, each once and with commas between, not %s", listed(groups), api.Quoted(req.GroupBy))
		}
		q.By = append(q.By, by)
	}
	return q, nil
}

// days returns the first and the last day of the request.
func (u *Usage) days(req UsageRequest) (from, to string, err error) {
	y, m, d := u.now().UTC().Date()
	last := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if req.To != "" {
		if last, err = parseDay("to", req.To); err != nil {
			return "", "", err
		}
	}
	first := last.AddDate(0, 0, 1-usageDefaultDays)
	if req.From != "" {
		if first, err = parseDay("from", req.From); err != nil {
			return "", "", err
		}
	}
	if first.After(last) {
		return "", "", api.Invalid(
			api.CodeInvalidValue, "from", "from is %s, which is after to, %s", models.DayOf(first), models.DayOf(last),
		)
	}
	if !first.AddDate(0, 0, usageDays).After(last) {
		return "", "", api.Invalid(api.CodeInvalidValue, "from",
			"from %s to %s are more than %d days", models.DayOf(first), models.DayOf(last), usageDays)
	}
	return models.DayOf(first), models.DayOf(last), nil
}

func parseDay(param, text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, api.Invalid(api.CodeInvalidValue, param, "%s must be a day as in 2026-11-21, not %s", param, api.Quoted(text))
	}
	return day, nil
}

func listed(groups []models.UsageBy) string {
	words := make([]string, len(groups))
	for i, g := range groups {
		words[i] = string(g)
	}
	return strings.Join(words, ", ")
}

func (u *Usage) report(ctx context.Context, q models.UsageQuery) (*UsageReport, error) {
	rows, err := u.store.Usage(ctx, q)
	if errors.Is(err, models.ErrTooMany) {
		return nil, api.Invalid(api.CodeInvalidValue, "group_by", "there are more than %d groups: group by less, or ask for fewer days",
			u.groups)
	}
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("usage: %w", err))
	}
	// Sorted here, as databases sort texts differently.
	slices.SortFunc(rows, func(a, b models.Usage) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.KeyID, b.KeyID),
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider))
	})
	report := &UsageReport{From: q.From, To: q.To, By: q.By, Rows: rows}
	for i := range rows {
		report.Total.Add(&rows[i].Sum)
	}
	return report, nil
}
