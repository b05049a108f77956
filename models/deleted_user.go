package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gorm.io/gorm"
)

// DeletedUser is what is kept of a user who was deleted, for administrators, until it is erased.
type DeletedUser struct {
	ID        string
	Email     string // normalised
	DeletedAt int64  // Unix microseconds
}

// DeletedUsers are those of some users who were deleted and not erased, by id.
func (s *Store) DeletedUsers(ctx context.Context, ids []string) (map[string]DeletedUser, error) {
	users := map[string]DeletedUser{}
	for some := range slices.Chunk(distinct(ids), idsPerStatement) {
		var rows []DeletedUser
		err := s.run(ctx, func(db *gorm.DB) error { return db.Where("id IN ?", some).Find(&rows).Error })
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			users[row.ID] = row
		}
	}
	return users, nil
}

// DeletedUser is who was deleted last of those with this id or this normalised address, or ErrNotFound.
func (s *Store) DeletedUser(ctx context.Context, name string) (u *DeletedUser, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		u, err = take[DeletedUser](db.Where("id = ? OR email = ?", name, name).Order("deleted_at DESC"))
		return err
	})
	return u, err
}

// EmailOf is the address of a user, also of one who is deleted and not erased; or ErrNotFound.
func (t *Transaction) EmailOf(id string) (string, error) {
	u, err := t.User(id)
	if !errors.Is(err, ErrNotFound) {
		return u.Email, err
	}
	former, err := take[DeletedUser](t.db.Where("id = ?", id))
	return former.Email, err
}

// Erased stands where the address or the name of a user was.
const Erased = "erased"

// EraseUsers removes the normalised address of users who are deleted, and what else names them, from every
// table. The ids stay, and with them the rows and the sums of the ledger.
func (t *Transaction) EraseUsers(email string) error {
	var ids, accounts []string
	if err := t.db.Model(&DeletedUser{}).Where("email = ?", email).Pluck("id", &ids).Error; err != nil {
		return err
	}
	for _, id := range ids {
		accounts = append(accounts, UserAccount(id))
	}
	if err := forgetOwners(t.db, accounts...); err != nil {
		return err
	}
	containing := "%" + likeText(email) + "%"
	const own = "user_id <> '' AND user_id IN ?" // as the index has it
	for _, s := range []struct {
		text   string
		values []any
	}{
		{"DELETE FROM one_time_tokens WHERE user_id IN ? OR email = ?", []any{ids, email}},
		{"UPDATE identities SET email = '' WHERE LOWER(email) = ?", []any{email}},
		{"DELETE FROM call_contents WHERE id IN (SELECT id FROM calls WHERE " + own + ")", []any{ids}},
		{"UPDATE calls SET user_agent = '' WHERE " + own + ` AND LOWER(user_agent) LIKE ? ESCAPE '\'`, []any{ids, containing}},
		{`DELETE FROM refusals WHERE user_id IN ? OR LOWER(model || ' ' || message) LIKE ? ESCAPE '\'`, []any{ids, containing}},
		{"DELETE FROM deleted_users WHERE email = ?", []any{email}},
	} {
		if err := t.db.Exec(s.text, s.values...).Error; err != nil {
			return err
		}
	}
	for _, table := range []string{"users", "api_keys", "teams"} {
		var rows []struct{ ID, Name string }
		if err := t.db.Table(table).Select("id, name").Where(`LOWER(name) LIKE ? ESCAPE '\'`, containing).Find(&rows).Error; err != nil {
			return err
		}
		for _, row := range rows {
			if err := t.db.Table(table).Where("id = ?", row.ID).UpdateColumn("name", withoutEmail(row.Name, email)).Error; err != nil {
				return err
			}
		}
	}
	if err := t.eraseLedger(ids, email, containing); err != nil {
		return err
	}
	return t.eraseAudit(ids, email)
}

// eraseLedger erases in the ledger: what clients have named, and the contents of the calls of the users.
// Other processes remember a name for NamesKept at most.
func (t *Transaction) eraseLedger(ids []string, email, containing string) error {
	var names []ledgerName
	if err := t.db.Where(`LOWER(text) LIKE ? ESCAPE '\'`, containing).Find(&names).Error; err != nil {
		return err
	}
	for _, of := range names { // two may have differed by nothing else
		text := fmt.Sprintf("%s (%d)", withoutEmail(of.Text, email), of.N)
		if err := t.db.Model(&of).UpdateColumn("text", text).Error; err != nil {
			return err
		}
	}
	if err := t.db.Exec(`DELETE FROM projects WHERE LOWER(name) LIKE ? ESCAPE '\'`, containing).Error; err != nil {
		return err
	}
	if err := t.eraseSums(email); err != nil {
		return err
	}
	mine := t.db.Where("user_n IN (SELECT n FROM ledger_names WHERE owner = '' AND text IN ?)", ids)
	var rows []ledgerRow
	return mine.Select("id", "rest").FindInBatches(&rows, idsPerStatement, func(*gorm.DB, int) error {
		contents := make([]string, len(rows))
		for i := range rows {
			var c Call
			if err := c.readRest(rows[i].Rest, rows[i].ID); err != nil {
				return err
			}
			contents[i] = c.ID
			before := c
			for _, text := range []*string{&c.AgentID, &c.ParentAgentID, &c.Detail} {
				*text = withoutEmail(*text, email)
			}
			if c == before {
				continue
			}
			if err := t.db.Model(&ledgerRow{ID: rows[i].ID}).UpdateColumn("rest", appendRest(nil, &c)).Error; err != nil {
				return err
			}
		}
		return t.db.Where("id IN ?", contents).Delete(&CallContent{}).Error
	}).Error
}

// eraseSums erases in the names of projects in the packed sums.
func (t *Transaction) eraseSums(email string) error {
	var begins []int64
	if err := t.db.Table(ledgerSums).Distinct("begins").Order("begins").Pluck("begins", &begins).Error; err != nil {
		return err
	}
	for _, at := range begins {
		var rows []usageSums
		if err := t.db.Table(ledgerSums).Where("begins = ?", at).Find(&rows).Error; err != nil {
			return err
		}
		for i := range rows {
			if !strings.Contains(strings.ToLower(string(rows[i].Totals)), email) {
				continue
			}
			if err := t.eraseSumsOf(rows[i], email); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Transaction) eraseSumsOf(row usageSums, email string) error {
	sums, erased := minutesOf{}, minutesOf{}
	if err := row.addTo(sums, 1); err != nil {
		return err
	}
	for group, minutes := range sums {
		for _, text := range group.texts() {
			*text = withoutEmail(*text, email)
		}
		of := erased[group]
		for i := range minutes {
			tallyOf(&of, minutes[i].minute).add(&minutes[i].Tally)
		}
		erased[group] = of
	}
	again := packRow(packedForm, row, erased)
	return t.db.Table(ledgerSums).Where("begins = ? AND hours = ? AND part = ?", row.Begins, row.Hours, row.Part).
		UpdateColumns(map[string]any{"totals": again.Totals, "details": again.Details}).Error
}

// eraseAudit erases in the audit, whose triggers refuse every other change.
func (t *Transaction) eraseAudit(ids []string, email string) error {
	if err := t.db.Exec("INSERT INTO audit_erasures (id) VALUES (1)").Error; err != nil {
		return err
	}
	acted := t.db.Table("audit").Where("actor_id IN ? OR LOWER(actor_email) = ?", ids, email)
	if err := acted.UpdateColumn("actor_email", Erased).Error; err != nil {
		return err
	}
	var rows []Audit
	about := t.db.Where(`target IN ? OR LOWER(detail) LIKE ? ESCAPE '\'`, ids, "%"+likeText(email)+"%")
	if err := about.Select("id, target, detail").Find(&rows).Error; err != nil {
		return err
	}
	for i := range rows {
		detail, err := eraseDetail(rows[i].Detail, email, slices.Contains(ids, rows[i].Target))
		if err != nil {
			return err
		}
		if err := t.db.Table("audit").Where("id = ?", rows[i].ID).UpdateColumn("detail", detail).Error; err != nil {
			return err
		}
	}
	return t.db.Exec("DELETE FROM audit_erasures").Error
}

// eraseDetail erases an address in a detail of the audit; in one about its user also each address, as
// of an identity, and each name.
func eraseDetail(detail, email string, own bool) (string, error) {
	var out strings.Builder
	from, to := jsontext.NewDecoder(strings.NewReader(detail)), jsontext.NewEncoder(&out)
	for member := ""; ; {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return strings.TrimSuffix(out.String(), "\n"), nil
		}
		if err != nil {
			return "", err
		}
		if token.Kind() == jsontext.KindString {
			text := token.String()
			switch in, n := from.StackIndex(from.StackDepth()); {
			case in == jsontext.KindBeginObject && n%2 == 1:
				member = text
			case member == "email" || member == "secret_shown_to":
				if own && text != "" || strings.EqualFold(text, email) { // another address may have this one in it
					token = jsontext.String(Erased)
				}
			case own && member == "name" && text != "":
				token = jsontext.String(Erased)
			default:
				token = jsontext.String(withoutEmail(text, email))
			}
		}
		if err := to.WriteToken(token); err != nil {
			return "", err
		}
	}
}

// withoutEmail erases an address in a text that people have written.
func withoutEmail(text, email string) string {
	return regexp.MustCompile("(?i)"+regexp.QuoteMeta(email)).ReplaceAllLiteralString(text, Erased)
}
