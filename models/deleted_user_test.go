package models_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"modelgateway/models"
)

// texts are all values of all columns of all tables, a line each. SQLite stores any value in any
// column; of PostgreSQL all are cast to text.
func texts(t *testing.T, db *sql.DB, embedded bool) string {
	t.Helper()
	columns := "SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) " +
		"WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
	if embedded {
		columns = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
	}
	var all strings.Builder
	each(t, db, columns, func(cells ...string) {
		text := fmt.Sprintf("CAST(%q AS TEXT)", cells[1])
		if bytes := map[string]bool{"rest": true, "totals": true, "details": true, "sealed": true}; bytes[cells[1]] && !embedded {
			text = fmt.Sprintf("encode(%q, 'escape')", cells[1])
		}
		query := fmt.Sprintf(`SELECT %s, '' FROM %q WHERE %q IS NOT NULL`, text, cells[0], cells[1])
		each(t, db, query, func(value ...string) { fmt.Fprintf(&all, "%s.%s: %s\n", cells[0], cells[1], value[0]) })
	})
	return all.String()
}

// each reads the rows of a query of two columns.
func each(t *testing.T, db *sql.DB, query string, row func(cells ...string)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		cells := make([]string, 2)
		if err := rows.Scan(&cells[0], &cells[1]); err != nil {
			t.Fatal(err)
		}
		all = append(all, cells)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	_ = rows.Close()
	for _, cells := range all {
		row(cells...)
	}
}

// leaver makes a user whose address or name is in every table that may have one, and deletes them.
func leaver(t *testing.T, store *models.Store, db *sql.DB) {
	t.Helper()
	ctx := t.Context()
	createUsers(t, store, "ada", "bob")
	execute(t, db, `UPDATE users SET name = 'Ada Lovelace' WHERE id = 'ada';
		UPDATE users SET name = 'Aide of Ada@x.com' WHERE id = 'bob';
		UPDATE api_keys SET name = 'for ADA@x.com' WHERE id = 'ada1';
		INSERT INTO identities (issuer, subject, user_id, created_at, email) VALUES ('i', 'a', 'ada', 1, 'lovelace@x.com'), ('i', 'b', 'bob', 1, 'Ada@x.com');
		INSERT INTO teams (id, name, created_at) VALUES ('t', 'ada@x.com and friends', 1);
		INSERT INTO one_time_tokens (id, hash, purpose, user_id, email, team_id, role, created_by, created_at, expires_at) VALUES
			('o1', 'h1', 'invite', '', 'ada@x.com', '', '', 'bob', 1, 9), ('o2', 'h2', 'verify', 'ada', 'lovelace@x.com', '', '', '', 1, 9),
			('o3', 'h3', 'invite', '', 'bada@x.com', '', '', 'ada', 1, 9);
		INSERT INTO call_contents (id, sealed) VALUES ('c1', ''), ('c2', '')`)
	if err := store.WriteCalls(ctx, "r", []models.Call{
		{ID: "c1", UserID: "ada", KeyID: "ada1", Cost: 5, UserAgent: "mine/1 (ada@x.com)", BeganAt: 1,
			Project: "of Ada@x.com", Session: "ada@x.com", AgentID: "ADA@x.com", ParentAgentID: "for ada@x.com"},
		{ID: "c2", UserID: "bob", KeyID: "bob1", Cost: 7, UserAgent: "curl/8", BeganAt: 1},
	}); err != nil {
		t.Fatal(err)
	}
	for i, row := range []models.Audit{
		{ActorID: "ada", ActorEmail: "ada@x.com", Action: "team.create", Target: "t", Detail: `{"name":"of ada@x.com","n":1.50}`},
		{ActorID: "bob", ActorEmail: "bob@x.com", Action: "user.rename", Target: "ada",
			Detail: `{"email":"ada@x.com","before":{"name":"","admin":false},"after":{"name":"Ada Lovelace","admin":false}}`},
		{ActorID: "ada", ActorEmail: "ada@x.com", Action: "identity.link", Target: "ada",
			Detail: `{"email":"ada@x.com","identities":[{"issuer":"i","email":"lovelace@x.com"}]}`},
		{ActorID: "bob", ActorEmail: "bob@x.com", Action: "key.create", Target: "k", Detail: `{"secret_shown_to":"ada@x.com","after":{"name":"n"}}`},
		{ActorID: "bob", ActorEmail: "bob@x.com", Action: "invitation.create", Target: "o3", Detail: `{"email":"bada@x.com"}`},
	} {
		row.ID, row.At = fmt.Sprint("a", i), 1
		if err := store.RecordAudit(ctx, &row); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, store, "ada", 5_000_000)
}

func remove(t *testing.T, store *models.Store, id string, at int64) {
	t.Helper()
	if err := store.Change(t.Context(), func(tx *models.Transaction) error { _, err := tx.DeleteUser(id, at); return err }); err != nil {
		t.Fatal(err)
	}
}

func TestADeletedUserKeepsTheAddress(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		leaver(t, store, rawDB(t, address))
		want := models.DeletedUser{ID: "ada", Email: "ada@x.com", DeletedAt: 5_000_000}
		if all, err := store.DeletedUsers(t.Context(), []string{"ada", "bob", "ada"}); err != nil || len(all) != 1 || all["ada"] != want {
			t.Errorf("%+v: %v", all, err)
		}
		for _, name := range []string{"ada", "ada@x.com"} {
			if u, err := store.DeletedUser(t.Context(), name); err != nil || *u != want {
				t.Errorf("%s: %+v, %v", name, u, err)
			}
		}
		if _, err := store.DeletedUser(t.Context(), "bob"); !errors.Is(err, models.ErrNotFound) {
			t.Error(err)
		}
		for deleted, want := range map[bool]int{true: 1, false: 0} {
			got, err := store.Calls(t.Context(), models.CallFilter{Search: "ada@", SearchDeleted: deleted}, models.Page{Limit: 9})
			if err != nil || len(got.Rows) != want {
				t.Errorf("also deleted ones %t: %+v, %v", deleted, got, err)
			}
		}
		rows, err := store.Audit(t.Context(), models.AuditFilter{Target: "ada"}, models.Page{Limit: 1})
		if err != nil || rows[0].TargetName != "ada@x.com" {
			t.Errorf("%+v: %v", rows, err)
		}
	})
}

func TestWhoWasDeletedBeforeHasTheAddressOfTheAudit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		db := migratedByFormerRelease(t, address)
		execute(t, db, `INSERT INTO audit (id, at, actor_id, actor_email, action, target, detail, request_id, address) VALUES
			('a1', 7, '', '', 'user.delete', 'ada', '{"email":"ada@x.com"}', '', ''),
			('a2', 8, '', '', 'user.delete', 'bob', 'none', '', ''), ('a3', 9, '', '', 'user.disable', 'cyd', '{"email":"cyd@x.com"}', '', '')`)
		all, err := migrated(t, address).DeletedUsers(t.Context(), []string{"ada", "bob", "cyd"})
		if want := (models.DeletedUser{ID: "ada", Email: "ada@x.com", DeletedAt: 7}); err != nil || len(all) != 1 || all["ada"] != want {
			t.Errorf("%+v: %v", all, err)
		}
	})
}

func TestAnErasedUserIsInNoColumnOfAnyTable(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		leaver(t, store, db)
		// The address had another account before, and has been in the audit since.
		if err := store.CreateUser(t.Context(), &models.User{ID: "ada0", Email: "ada@x.com", Name: "Countess Ada"}); err != nil {
			t.Fatal(err)
		}
		remove(t, store, "ada0", 6_000_000)
		row := models.Audit{ID: "a9", ActorID: "bob", Action: "user.delete", Target: "ada0", Detail: `{"before":{"name":"Countess Ada"}}`}
		if err := store.RecordAudit(t.Context(), &row); err != nil {
			t.Fatal(err)
		}
		before := strings.ToLower(texts(t, db, strings.HasPrefix(address, "sqlite:")))
		personal := []string{"ada@x.com", "lovelace", "countess"}
		for _, text := range personal {
			if !strings.Contains(before, text) {
				t.Fatalf("%s is nowhere:\n%s", text, before)
			}
		}
		err := store.ChangeSlowly(t.Context(), func(tx *models.Transaction) error {
			email, err := tx.EmailOf("ada")
			if err != nil {
				return err
			}
			return tx.EraseUsers(email)
		})
		if err != nil {
			t.Fatal(err)
		}
		after := texts(t, db, strings.HasPrefix(address, "sqlite:"))
		for line := range strings.Lines(strings.ReplaceAll(strings.ToLower(after), "bada@x.com", "")) {
			for _, text := range personal {
				if strings.Contains(line, text) {
					t.Errorf("%s is in %s", text, line)
				}
			}
		}
		for _, left := range []string{
			"audit.actor_id: ada\n", "audit.target: ada\n", "audit.actor_email: erased\n", "audit.actor_email: bob@x.com\n",
			`audit.detail: {"name":"of erased","n":1.50}`, `audit.detail: {"email":"bada@x.com"}`,
			`audit.detail: {"email":"erased","before":{"name":"","admin":false},"after":{"name":"erased","admin":false}}`,
			`audit.detail: {"secret_shown_to":"erased","after":{"name":"n"}}`, "api_keys.name: for erased\n", "teams.name: erased and friends\n",
			"ledger_names.text: ada\n", "ledger_names.text: curl/8\n", "call_contents.id: c2\n", "one_time_tokens.email: bada@x.com\n",
		} {
			if !strings.Contains(after, left) {
				t.Errorf("%q is not there:\n%s", left, after)
			}
		}
		for _, gone := range []string{"call_contents.id: c1", "deleted_users.", "audit_erasures."} {
			if strings.Contains(after, gone) {
				t.Errorf("%s is there:\n%s", gone, after)
			}
		}
		err = store.Read(t.Context(), func(tx *models.Transaction) error { _, err := tx.EmailOf("ada"); return err })
		if !errors.Is(err, models.ErrNotFound) {
			t.Error(err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE audit SET detail = '{}'"); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("the audit is open: %v", err)
		}
	})
}

// The exception opens two columns, and only for the transaction that erases.
func TestAnErasureOpensTheAuditForItselfAlone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, db := migrated(t, address), rawDB(t, address)
		if err := store.RecordAudit(t.Context(), auditRow("a1")); err != nil {
			t.Fatal(err)
		}
		erasing := func(ctx context.Context, change string) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.ExecContext(ctx, "INSERT INTO audit_erasures (id) VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(address, "sqlite:") { // whose other transactions wait
				if _, err := db.ExecContext(ctx, "UPDATE audit SET detail = ''"); err == nil {
					t.Error("the audit is open for another transaction")
				}
			}
			_, err = tx.ExecContext(ctx, change)
			return err
		}
		if err := erasing(t.Context(), "UPDATE audit SET actor_email = 'erased', detail = '{}'"); err != nil {
			t.Error(err)
		}
		for _, column := range []string{"id", "at", "actor_id", "action", "target", "request_id", "address"} {
			err := erasing(t.Context(), "UPDATE audit SET "+column+" = "+column+", detail = '{}'")
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", column, err)
			}
		}
		if err := erasing(t.Context(), "DELETE FROM audit"); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Error(err)
		}
	})
}
