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

	"modelgateway/api"
	"modelgateway/models"
)

const (
	usageGroups      = 10_000
	usageDays        = 366
	usageDefaultDays = 30
)

// UsageRequest selects usage, as the client wrote it; empty fields mean defaults.
type UsageRequest struct {
	From, To             string // days, both included, or moments
	GroupBy              string // with commas
	UserID, KeyID, Model string // only of these
	TeamID               string // only of the calls with its keys
	Provider             string
	Agent, Project       string
	Step                 string // of a series
	TimeZone             string // whose days they are
	Previous             string // true: with the period before
}

// detailed says whether the report has more than sums: percentiles, and the errors by kind.
func (r *UsageRequest) detailed() bool {
	day := func(text string) bool { return len(text) <= len(time.DateOnly) }
	return r.Step != "" || r.TimeZone != "" || r.Previous == yes || !day(r.From) || !day(r.To)
}

const yes = "true"

// UsageReport is the usage of a period.
type UsageReport struct {
	From, To string // days, both included; with Details also moments, and To is not included then
	By       []models.UsageBy
	Rows     []models.Usage // by day, user, key, team, model and provider
	Total    models.Sum
	Details  *UsageDetails    // nil unless asked for
	Refused  map[string]int64 // calls that the gateway refused, by reason; nil: not known of these calls
}

// Usage reports usage from the sums of the ledger, which lag behind the calls by
// a moment.
type Usage struct {
	store  *models.Store
	now    func() time.Time
	groups int // in one answer
	cells  int // of a series that are kept until the greatest groups are known

	mostLines int // of a statement
}

// NewUsage makes a Usage that reads the ledger in store.
func NewUsage(store *models.Store, now func() time.Time) *Usage {
	return &Usage{store: store, now: now, groups: usageGroups, cells: usageCells, mostLines: statementLines}
}

// Own reports the usage of a caller: that of a user with all their keys, or of one
// key.
func (u *Usage) Own(ctx context.Context, userID, keyID string, req UsageRequest) (*UsageReport, error) {
	if userID == "" && keyID == "" {
		return nil, api.Unauthorized(api.CodeMissingCredentials, "usage belongs to a caller: send the token of a login or an API key")
	}
	if keyID != "" && req.KeyID != "" && req.KeyID != keyID {
		return nil, api.Invalid(api.CodeInvalidValue, "key_id", "an API key sees its own calls only: send the token of a login")
	}
	req.UserID, req.KeyID = userID, cmp.Or(keyID, req.KeyID)
	return u.report(ctx, req, models.ByDay, models.ByKey, models.ByTeam, models.ByModel, models.ByProvider,
		models.ByAgent, models.ByProject)
}

// Team reports the usage of the keys of a team.
func (u *Usage) Team(ctx context.Context, teamID string, req UsageRequest) (*UsageReport, error) {
	req.TeamID = teamID
	return u.report(ctx, req, models.ByDay, models.ByUser, models.ByKey, models.ByModel, models.ByProvider,
		models.ByAgent, models.ByProject)
}

// All reports the usage of all callers.
func (u *Usage) All(ctx context.Context, req UsageRequest) (*UsageReport, error) {
	report, err := u.report(ctx, req, models.ByDay, models.ByUser, models.ByKey, models.ByTeam, models.ByModel,
		models.ByProvider, models.ByAgent, models.ByProject)
	if err != nil {
		return nil, err
	}
	return report, u.nameDeleted(ctx, report.Rows)
}

func (u *Usage) nameDeleted(ctx context.Context, rows []models.Usage) error {
	return nameDeleted(ctx, u.store, len(rows), func(i int) userName {
		return userName{rows[i].UserID, &rows[i].UserEmail, &rows[i].DeletedAt}
	})
}

func (u *Usage) query(req UsageRequest, groups ...models.UsageBy) (models.UsageQuery, error) {
	q := models.UsageQuery{By: []models.UsageBy{models.ByDay}, MaxGroups: u.groups}
	for _, only := range []struct {
		param, value string
		into         *string
	}{
		{"user_id", req.UserID, &q.UserID}, {"key_id", req.KeyID, &q.KeyID}, {"team_id", req.TeamID, &q.TeamID},
		{"model", req.Model, &q.ModelID}, {"provider", req.Provider, &q.Provider},
		{"agent", req.Agent, &q.Agent}, {"project", req.Project, &q.Project},
	} {
		const longest = 256
		if len(only.value) > longest || !utf8.ValidString(only.value) || strings.Contains(only.value, "\x00") {
			return q, api.Invalid(api.CodeInvalidValue, only.param, "%s must be at most %d bytes of UTF-8 without NUL",
				only.param, longest)
		}
		*only.into = only.value
	}
	if req.Previous != "" && req.Previous != yes && req.Previous != "false" {
		return q, api.Invalid(api.CodeInvalidValue, "previous", "previous must be true or false, not %s", api.Quoted(req.Previous))
	}
	if req.Step != "" {
		q.By = nil // the series has the time
	}
	if req.GroupBy == "" {
		return q, nil
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

func listed(groups []models.UsageBy) string {
	words := make([]string, len(groups))
	for i, g := range groups {
		words[i] = string(g)
	}
	return strings.Join(words, ", ")
}

// report reports what is asked for, grouped by some of these dimensions.
func (u *Usage) report(ctx context.Context, req UsageRequest, groups ...models.UsageBy) (*UsageReport, error) {
	q, err := u.query(req, groups...)
	if err != nil {
		return nil, err
	}
	now := u.now()
	p, err := parsePeriod(&req, now)
	if err != nil {
		return nil, err
	}
	d := &UsageDetails{zone: p.from.Location().String()}
	if d.count, d.before, err = u.count(ctx, p, &q); err != nil {
		return nil, u.failed(err)
	}
	if req.Previous == yes {
		all := q
		all.By = nil
		if d.previous, _, err = u.count(ctx, p.previous(now), &all); err != nil {
			return nil, u.failed(err)
		}
	}
	report := &UsageReport{From: p.text(p.from, false), To: p.text(p.to, true), By: q.By, Total: d.count.total}
	if req.detailed() {
		report.Details = d
	}
	if report.Refused, err = u.refused(ctx, p, &q); err != nil {
		return nil, u.failed(err)
	}
	report.Rows, err = u.name(ctx, d.count, &q)
	return report, err
}

// failed is the error of a query that failed.
func (u *Usage) failed(err error) error {
	if errors.Is(err, models.ErrTooMany) {
		return api.Invalid(api.CodeInvalidValue, "group_by",
			"there are more than %d groups: group by less, or ask for fewer days", u.groups)
	}
	return api.Unavailable(fmt.Errorf("usage: %w", err))
}

// sortUsage sorts here, as databases sort texts differently.
func sortUsage(rows []models.Usage) {
	slices.SortFunc(rows, func(a, b models.Usage) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.KeyID, b.KeyID),
			cmp.Compare(a.TeamID, b.TeamID), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Project, b.Project))
	})
}
