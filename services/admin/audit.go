package admin

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

// AuditQuery selects actions of administrators; an empty field selects all.
type AuditQuery struct {
	ActorID, Target string
	Action          string // or the beginning of one with a dot at its end
	From, To        string // days (UTC), both included, or moments
	Q               string // a text that an action contains
}

// AuditPage is a part of the actions of administrators, the newest first.
type AuditPage struct {
	Rows []models.AuditRow
	Next string // the id after which the next page begins; empty: there is none
}

// Audit lists the actions of administrators, the newest first. A page may be short although
// there is a next one: no more than models.AuditScan rows are searched for it.
func (a *Service) Audit(ctx context.Context, q AuditQuery, page models.Page) (*AuditPage, error) {
	f, err := q.filter()
	if err != nil {
		return nil, err
	}
	found := &AuditPage{}
	rows, more, err := ReadPage(page, "the audit", func(page models.Page) (rows []models.AuditRow, err error) {
		rows, found.Next, err = a.store.AuditPage(ctx, *f, page)
		return rows, err
	})
	if err != nil {
		return nil, err
	}
	if found.Rows = rows; more {
		found.Next = rows[len(rows)-1].ID
	}
	return found, nil
}

func (q *AuditQuery) filter() (*models.AuditFilter, error) {
	if err := checkID("actor_id", q.ActorID); err != nil {
		return nil, err
	}
	if err := checkID("target", q.Target); err != nil {
		return nil, err
	}
	const longest = 200 // bytes
	if !plainAction.MatchString(q.Action) {
		return nil, api.Invalid(api.CodeInvalidValue, "action", "action must be an action as in key.limit, or a beginning as in key.")
	}
	if len(q.Q) > longest || !utf8.ValidString(q.Q) || strings.ContainsRune(q.Q, 0) {
		return nil, api.Invalid(api.CodeInvalidValue, "q", "q must be a text of at most %d bytes", longest)
	}
	f := &models.AuditFilter{ActorID: q.ActorID, Target: q.Target, Action: q.Action, Containing: strings.TrimSpace(q.Q)}
	var err error
	if f.From, err = bound("from", q.From, 0); err != nil {
		return nil, err
	}
	f.To, err = bound("to", q.To, 24*time.Hour)
	return f, err
}

var plainAction = regexp.MustCompile(`^[a-z_]{0,40}(\.[a-z_]{0,40})?$`)

// bound reads a day (UTC) or a moment. A day ends a length later.
func bound(param, text string, length time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(length), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, api.Invalid(api.CodeInvalidValue, param,
			"%s must be a day as in 2026-11-21 or a moment as in 2026-11-21T14:30:00Z, not %s", param, api.Quoted(text))
	}
	return at, nil
}

// Show returns a page in the form of the API.
func (p *AuditPage) Show() api.AuditList {
	list := api.AuditList{
		Object: api.ObjectList, Data: make([]api.AuditEntry, len(p.Rows)), HasMore: p.Next != "", NextAfter: api.Maybe(p.Next),
	}
	for i, row := range p.Rows {
		list.Data[i] = api.AuditEntry{
			ID: row.ID, Object: api.ObjectAudit, At: api.Seconds(row.At), ActorID: row.ActorID, ActorEmail: row.ActorEmail,
			ActorName: api.Maybe(row.ActorName), Action: row.Action, Target: row.Target, TargetName: api.Maybe(row.TargetName),
			Detail: jsontext.Value(row.Detail), RequestID: row.RequestID, Address: row.Address,
		}
	}
	return list
}

// action is an action of an administrator and its target.
type action struct {
	actor  *models.User
	by     Actor
	name   string
	target string
}

// auditRow returns the row of an action.
func (a *Service) auditRow(act action, detail any) (*models.Audit, error) {
	return audit.Row(a.now(), audit.Entry{
		ActorID: act.actor.ID, ActorEmail: act.actor.Email, Action: act.name, Target: act.target,
		RequestID: act.by.RequestID, Address: act.by.Address,
	}, detail)
}

// Record adds a row of an administrator's action that changes nothing here. The detail has no secrets.
func (a *Service) Record(ctx context.Context, by Actor, name, target string, detail any) error {
	err := a.act(ctx, by, func(_ *models.Transaction, act action) (*models.Audit, error) {
		act.name, act.target = name, target
		return a.auditRow(act, detail)
	})
	if err != nil {
		return api.OrUnavailable("write the audit", err)
	}
	return nil
}

// record adds the row of one of several actions of a transaction.
func (a *Service) record(tx *models.Transaction, act action, detail any) error {
	row, err := a.auditRow(act, detail)
	if err != nil {
		return err
	}
	return tx.Audit(row)
}

// checkID refuses text that is no id; empty means none.
func checkID(param, id string) error {
	if id != "" && !auth.LooksLikeID(id) {
		return api.Invalid(api.CodeInvalidValue, param, "%s must be an id", param)
	}
	return nil
}

// The bounds of a page.
const (
	LongestPage = 200
	UsualPage   = 50
)

func checkPage(p models.Page) error {
	if p.Limit < 1 || p.Limit > LongestPage {
		return api.Invalid(api.CodeInvalidValue, "limit", "limit must be from 1 to %d", LongestPage)
	}
	return checkID("after", p.After)
}

// ReadPage reads a page of what list reads, and says whether there are more rows.
func ReadPage[Row any](page models.Page, name string, list func(models.Page) ([]Row, error)) (rows []Row, more bool, err error) {
	if err := checkPage(page); err != nil {
		return nil, false, err
	}
	longer := page
	longer.Limit++ // a row too many shows that there are more
	rows, err = list(longer)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, false, api.Invalid(api.CodeInvalidValue, "after", "after must be the id of an entry of this list")
	case err != nil:
		return nil, false, api.OrUnavailable("list "+name, err)
	case len(rows) > page.Limit:
		return rows[:page.Limit], true, nil
	}
	return rows, false, nil
}
