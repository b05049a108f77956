package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
)

var auditBegan = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// addAudit adds a row that is some minutes after auditBegan.
func addAudit(t *testing.T, store *models.Store, minute int, change func(*models.Audit)) {
	t.Helper()
	at := auditBegan.Add(time.Duration(minute) * time.Minute)
	row := &models.Audit{
		ID: fmt.Sprint(models.AuditID(at), "_", minute), At: at.UnixMicro(), ActorID: "usr_ada", ActorEmail: "ada@example.com",
		Action: "key.limit", Target: "ada1", Detail: `{"after":{"name":"Eval 50%_night\"ly"}}`, RequestID: fmt.Sprint("req_", minute), Address: "::1",
	}
	change(row)
	if err := store.Change(t.Context(), func(tx *models.Transaction) error { return tx.Audit(row) }); err != nil {
		t.Fatal(err)
	}
}

func TestAuditIsFilteredByTimeActionAndText(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		addAudit(t, store, 0, func(*models.Audit) {})
		addAudit(t, store, 1, func(a *models.Audit) { a.Action, a.Detail = "key.revoke", `{}` })
		addAudit(t, store, 2, func(a *models.Audit) {
			a.Action, a.Target, a.ActorID, a.ActorEmail = "user.disable", "ada", "", "command line"
		})
		addAudit(t, store, 3, func(a *models.Audit) { a.Target, a.Detail = "gone", `{"name":"Zoë"}` })
		at := func(minute int) time.Time { return auditBegan.Add(time.Duration(minute) * time.Minute) }
		for want, f := range map[string]models.AuditFilter{
			"3 2 1 0": {}, "1 0": {Target: "ada1"}, "1": {Action: "key.revoke"}, "3 1 0": {Action: "key."}, "3": {From: at(2), Action: "key."},
			"2 1": {From: at(1), To: at(3)}, "": {From: at(4)}, "2": {Containing: "command LINE"}, "2 0": {Containing: `50%_night"L`},
			"3 1": {Containing: "E", ActorID: "usr_ada", From: at(1)}, "1 ": {Containing: "req_1"}, "2 ": {Containing: "user.dis"},
			" ": {Containing: "50__night"}, "3 ": {Containing: "Zoë"}, "  ": {Containing: "a' OR 1=1"}, "   ": {Action: "key"},
		} {
			rows, err := store.Audit(t.Context(), f, models.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range rows {
				got = append(got, strings.TrimPrefix(rows[i].RequestID, "req_"))
			}
			if strings.Join(got, " ") != strings.TrimSpace(want) {
				t.Errorf("%+v: %v, not %s", f, got, want)
			}
		}
		rows, err := store.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 10})
		if err != nil || rows[0].TargetName != "" || rows[1].TargetName == "" || rows[2].TargetName == "" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// A search of a large audit looks at a bounded part of it.
func TestASearchOfALargeAuditGoesOnPageByPage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		const rows = models.AuditScan + 5000
		addAudit(t, store, 0, func(a *models.Audit) { a.Detail = `{"name":"needle"}` })
		numbers := fmt.Sprintf("WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d)", rows)
		execute(t, rawDB(t, address), fmt.Sprintf(`INSERT INTO audit (id, at, actor_id, actor_email, action, target, detail, request_id, address)
			%s SELECT 'aud_' || CAST(%d + n AS TEXT) || '_x', 1, 'a', 'a@x.com', 'user.disable', 't', '{}', 'r', '' FROM numbers`,
			numbers, auditBegan.UnixMicro()))
		f := models.AuditFilter{Containing: "needle"}
		found, until, err := store.AuditPage(t.Context(), f, models.Page{Limit: 10})
		if err != nil || len(found) != 0 || until == "" {
			t.Fatalf("%d rows, until %q, %v", len(found), until, err)
		}
		found, until, err = store.AuditPage(t.Context(), f, models.Page{Limit: 10, After: until})
		if err != nil || len(found) != 1 || until != "" {
			t.Errorf("%d rows, until %q, %v", len(found), until, err)
		}
		if found, until, err := store.AuditPage(t.Context(), models.AuditFilter{Action: "key.limit"}, models.Page{Limit: 10}); err != nil || len(found) != 1 || until != "" {
			t.Errorf("%d rows, until %q, %v", len(found), until, err)
		}
	})
}
