package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

const (
	statementLines = 50_000 // in one answer, some 20 MB

	// statementLate is how long after the end of a month its last calls may be written: calls are
	// written when they end, and wait for a database that is away.
	statementLate = 24 * time.Hour
)

// Statement reports what was spent in a calendar month of a time zone, by all callers. It reads the
// sums, which outlive the rows of calls.
func (u *Usage) Statement(ctx context.Context, month, zone string) (*api.Statement, error) {
	now := u.now()
	from, to, err := parseMonth(month, zone, now)
	if err != nil {
		return nil, err
	}
	lines, before, err := u.lines(ctx, from.Unix(), to.Unix())
	if err != nil {
		return nil, err
	}
	teams := parts(lines, func(l *models.Usage) models.Usage { return models.Usage{TeamID: l.TeamID, TeamName: l.TeamName} })
	people := parts(lines, func(l *models.Usage) models.Usage {
		return models.Usage{UserID: l.UserID, UserEmail: l.UserEmail, DeletedAt: l.DeletedAt}
	})
	sortLines(lines, teams, people)
	s := &api.Statement{
		Object: "statement", Month: month, TimeZone: from.Location().String(), GeneratedAt: now.Unix(),
		Complete: !now.Before(to.Add(statementLate)),
		Teams:    statementRows(teams, models.ByTeam), People: statementRows(people, models.ByUser),
		Projects: statementRows(
			parts(lines, func(l *models.Usage) models.Usage { return models.Usage{Project: l.Project} }), models.ByProject,
		),
		Models: statementRows(parts(lines, func(l *models.Usage) models.Usage {
			return models.Usage{Model: l.Model, Provider: l.Provider}
		}), models.ByModel),
		Lines: make([]api.StatementLine, len(lines)),
	}
	if before > 0 {
		s.DaysBefore = time.Unix(before, 0).UTC().Format(time.RFC3339)
	}
	var total models.Sum
	for i, row := range statementRows(lines, models.ByTeam, models.ByUser, models.ByProject, models.ByModel) {
		s.Lines[i] = api.StatementLine{Month: month, UsageRow: row}
		total.Add(&lines[i].Sum)
	}
	s.Total = usageTotals(&total)
	return s, nil
}

// parseMonth reads a month that has begun.
func parseMonth(text, zone string, now time.Time) (from, to time.Time, err error) {
	loc, err := parseZone(zone)
	if err != nil {
		return from, to, err
	}
	const form = "2006-01"
	first, err := time.Parse(form, text)
	if err != nil {
		return from, to, api.Invalid(api.CodeInvalidValue, "month", "month must be one as in 2026-10, not %s", api.Quoted(text))
	}
	y, m, _ := first.Date()
	from, to = midnight(y, m, 1, loc), midnight(y, m+1, 1, loc)
	if from.After(now) {
		return from, to, api.Invalid(api.CodeInvalidValue, "month", "%s has not begun yet: the last month with a statement is %s",
			text, now.In(loc).Format(form))
	}
	return from, to, nil
}

// lines sums the calls of a time by team, user, project and model. before is that of UsageTimes.
func (u *Usage) lines(ctx context.Context, from, to int64) (lines []models.Usage, before int64, err error) {
	sums := map[models.UsageGroup]*models.Sum{}
	inside := func(at, begin, end int64) bool { return begin < at && at < end }
	before, err = u.store.UsageTimes(ctx, &models.UsageQuery{}, models.UsageRange{
		From: from, To: to,
		Whole: func(begin, end int64) bool { return !inside(from, begin, end) && !inside(to, begin, end) },
		Add: func(t models.UsageTime) error {
			group := t.Group
			group.Key, group.Agent = "", ""
			sum := sums[group]
			if sum == nil {
				if len(sums) == u.mostLines {
					return models.ErrTooMany
				}
				sum = &models.Sum{}
				sums[group] = sum
			}
			sum.Add(&t.Tally.Sum)
			return nil
		},
	})
	if errors.Is(err, models.ErrTooMany) {
		return nil, 0, api.Invalid(api.CodeInvalidValue, "month",
			"the month has more than %d lines: read it by day, or grouped by less, from /admin/usage", u.mostLines)
	}
	if err != nil {
		return nil, 0, u.failed(err)
	}
	for g, sum := range sums {
		lines = append(lines, models.Usage{
			TeamID: g.Team, UserID: g.User, Project: g.Project, Model: g.Model, Provider: g.Provider, Sum: *sum,
		})
	}
	if err := u.store.NameUsage(ctx, []models.UsageBy{models.ByTeam, models.ByUser}, lines); err != nil {
		return nil, 0, u.failed(err)
	}
	return lines, before, u.nameDeleted(ctx, lines)
}

// parts sums lines by the names that they have in common, and sorts the sums.
func parts(lines []models.Usage, name func(*models.Usage) models.Usage) []models.Usage {
	sums := map[models.Usage]*models.Sum{}
	for i := range lines {
		of := name(&lines[i])
		if sums[of] == nil {
			sums[of] = &models.Sum{}
		}
		sums[of].Add(&lines[i].Sum)
	}
	all := make([]models.Usage, 0, len(sums))
	for of, sum := range sums {
		of.Sum = *sum
		all = append(all, of)
	}
	slices.SortFunc(all, byCost)
	return all
}

// byCost sorts those first that cost most.
func byCost(a, b models.Usage) int {
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.TeamID, b.TeamID),
		cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Model, b.Model),
		cmp.Compare(a.Provider, b.Provider))
}

func sortLines(lines, teams, people []models.Usage) {
	team, person := map[string]int{}, map[string]int{}
	for i := range teams {
		team[teams[i].TeamID] = i
	}
	for i := range people {
		person[people[i].UserID] = i
	}
	slices.SortFunc(lines, func(a, b models.Usage) int {
		return cmp.Or(cmp.Compare(team[a.TeamID], team[b.TeamID]), cmp.Compare(person[a.UserID], person[b.UserID]), byCost(a, b))
	})
}

func statementRows(rows []models.Usage, by ...models.UsageBy) []api.UsageRow {
	grouped := map[models.UsageBy]bool{}
	for _, of := range by {
		grouped[of] = true
	}
	all := make([]api.UsageRow, len(rows))
	for i := range rows {
		all[i] = api.UsageRow{UsageNames: usageNames(&rows[i], grouped), UsageTotals: usageTotals(&rows[i].Sum)}
	}
	return all
}

// StatementCells are the lines of a statement as people read them.
func StatementCells(lines []api.StatementLine) []api.StatementCells {
	const none = "none"
	all := make([]api.StatementCells, len(lines))
	for i := range lines {
		l := &lines[i]
		user := cmp.Or(l.UserEmail, string(*l.UserID), none)
		if l.UserDeletedAt != 0 {
			user += ", deleted " + time.Unix(l.UserDeletedAt, 0).UTC().Format("2 Jan 2006")
		}
		all[i] = api.StatementCells{
			Month: l.Month, Team: cmp.Or(l.TeamName, string(*l.TeamID), none), User: user, Project: cmp.Or(string(*l.Project), none),
			Model: l.Model, Provider: cmp.Or(string(*l.Provider), none), Calls: l.Calls, InputTokens: l.InputTokens,
			CachedTokens: l.CachedTokens, OutputTokens: l.OutputTokens, CostUSD: l.CostUSD,
		}
	}
	return all
}
