package models

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"gorm.io/gorm"
)

// AuditFilter selects rows of the audit; an empty field selects all.
type AuditFilter struct {
	ActorID    string
	Target     string
	Action     string // or the beginning of one with a dot at its end
	From, To   time.Time
	Containing string // a text in any case: of the actor's address, of the action, the target, the detail or the request
}

// AuditRow is a row of the audit with the names of today, and the last addresses of users who are
// deleted; empty for what is no more.
type AuditRow struct {
	Audit
	ActorName  string
	TargetName string // the name, or without one the e-mail address
}

// AuditScan is how many rows are looked through for a text or a group of actions: a page
// must not wait for a table of any size.
const AuditScan = 20_000

// Audit lists what administrators did, the newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter, p Page) ([]AuditRow, error) {
	rows, _, err := s.AuditPage(ctx, f, p)
	return rows, err
}

// AuditPage is Audit for one page. Where it has looked through AuditScan rows and there are
// more, it returns the id of the last of them: older rows have not been looked at.
func (s *Store) AuditPage(ctx context.Context, f AuditFilter, p Page) (rows []AuditRow, lookedUntil string, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		found := f.indexed(db, p)
		if searched := f.searched(); len(searched) > 0 {
			last := f.indexed(db, p).Select("id").Order("id DESC").Offset(AuditScan - 1).Limit(1)
			if err := last.Scan(&lookedUntil).Error; err != nil {
				return err
			}
			found = db.Table("(?) AS audit", found.Order("id DESC").Limit(AuditScan))
			for _, c := range searched {
				found = found.Where(c.text, c.values...)
			}
		}
		if err := found.Order("id DESC").Limit(p.Limit).Find(&rows).Error; err != nil {
			return err
		}
		return nameAudit(db, rows)
	})
	return rows, lookedUntil, err
}

// indexed are the conditions that an index finds. The ids have the order of the times.
func (f *AuditFilter) indexed(db *gorm.DB, p Page) *gorm.DB {
	q := db.Table("audit")
	for _, c := range []struct{ column, value string }{{"actor_id", f.ActorID}, {"target", f.Target}, {"action", f.Action}} {
		if c.value != "" && (c.column != "action" || !f.actions()) {
			q = q.Where(c.column+" = ?", c.value)
		}
	}
	if !f.From.IsZero() {
		q = q.Where("id >= ?", AuditID(f.From))
	}
	if !f.To.IsZero() {
		q = q.Where("id < ?", AuditID(f.To))
	}
	if p.After != "" {
		q = q.Where("id < ?", p.After)
	}
	return q
}

// AuditID is the beginning of the ids of the rows of a time. They have equally many digits
// until 2286, which later times stand for.
func AuditID(at time.Time) string {
	const most = 9_999_999_999_999_999
	return fmt.Sprintf("aud_%016d", min(max(at.UnixMicro(), 0), most))
}

func (f *AuditFilter) actions() bool { return strings.HasSuffix(f.Action, ".") }

type condition struct {
	text   string
	values []any
}

// searched are the conditions that every row has to be looked at for.
func (f *AuditFilter) searched() (all []condition) {
	if f.actions() {
		all = append(all, condition{`action LIKE ? ESCAPE '\'`, []any{likeText(f.Action) + "%"}})
	}
	if f.Containing == "" {
		return all
	}
	inJSON := f.Containing // as the detail has it
	if quoted, err := json.Marshal(f.Containing); err == nil {
		inJSON = string(quoted[1 : len(quoted)-1])
	}
	like := func(text string) string { return "%" + likeText(strings.ToLower(text)) + "%" }
	return append(all, condition{
		`(LOWER(actor_email) LIKE ? ESCAPE '\' OR action LIKE ? ESCAPE '\' OR LOWER(target) LIKE ? ESCAPE '\' OR ` +
			`LOWER(detail) LIKE ? ESCAPE '\' OR request_id = ?)`,
		[]any{like(f.Containing), like(f.Containing), like(f.Containing), like(inJSON), f.Containing},
	})
}

// likeText escapes a text for LIKE ... ESCAPE '\'.
func likeText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text)
}

// nameAudit fills the names in.
func nameAudit(db *gorm.DB, rows []AuditRow) error {
	var ids []string
	for i := range rows {
		ids = append(ids, rows[i].ActorID, rows[i].Target)
	}
	ids = distinct(ids)
	if len(ids) == 0 {
		return nil
	}
	var named []struct{ ID, Name, Email string }
	err := db.Raw(`SELECT id, name, email FROM users WHERE id IN ?
		UNION ALL SELECT id, name, '' FROM api_keys WHERE id IN ?
		UNION ALL SELECT id, name, '' FROM teams WHERE id IN ?
		UNION ALL SELECT id, '', email FROM deleted_users WHERE id IN ?
		UNION ALL SELECT id, '', email FROM one_time_tokens WHERE id IN ?`, ids, ids, ids, ids, ids).Scan(&named).Error
	if err != nil {
		return err
	}
	names := map[string]string{}
	persons := map[string]string{}
	for _, n := range named {
		names[n.ID], persons[n.ID] = cmp.Or(n.Name, n.Email), n.Name
	}
	for i := range rows {
		rows[i].ActorName, rows[i].TargetName = persons[rows[i].ActorID], names[rows[i].Target]
	}
	return nil
}
