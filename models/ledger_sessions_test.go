package models_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/servertest"
)

// sessionCalls are calls of four sessions. Those with the same name are of two owners.
func sessionCalls(t *testing.T, store *models.Store) {
	t.Helper()
	createUsers(t, store, "ada", "bob")
	for i, c := range []struct{ user, key, session, agent, project, served, outcome string }{
		{"ada", "ada1", "a", "codex", "x", "m1", models.OutcomeOK},
		{"bob", "bob1", "a", "codex", "y", "m1", models.OutcomeFailed},
		{"ada", "ada2", "a", "codex", "x", "m2", models.OutcomeClient},
		{"ada", "ada2", "b", "claude-code", "x", "m2", models.OutcomeOK},
		{"ada", "ada1", "", "curl", "x", "m2", models.OutcomeOK},
		{"", "service", "a", "codex", "", "", models.OutcomeRefused},
	} {
		one := call(fmt.Sprint(i), c.key, noon.Add(time.Duration(i)*time.Minute))
		one.UserID, one.Session, one.Agent, one.Project, one.Served, one.Outcome = c.user, c.session, c.agent, c.project, c.served, c.outcome
		one.DurationUS = int64(i) * 1000
		write(t, store, one)
	}
}

func names(sessions []models.Session) string {
	var all []string
	for i := range sessions {
		s := &sessions[i]
		all = append(all, fmt.Sprintf("%s%s:%d", s.First.UserID, s.First.Session, s.Calls))
	}
	return strings.Join(all, " ")
}

func TestSessionsAreListedByEachFilterTheNewestFirst(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		sessionCalls(t, store)
		minute := func(n int) int64 { return noon.Add(time.Duration(n) * time.Minute).UnixMicro() }
		var all []models.Session
		for _, tt := range []struct {
			may, only models.CallFilter
			want      string
		}{
			{want: "a:1 adab:1 boba:1 adaa:2"},
			{only: models.CallFilter{UserID: "ada"}, want: "adab:1 adaa:2"},
			{may: models.CallFilter{UserID: "ada", KeyID: "ada1"}, only: models.CallFilter{UserID: "ada", KeyID: "ada1"}, want: "adaa:1"},
			{only: models.CallFilter{KeyID: "ada1"}, want: "adaa:2"},
			{only: models.CallFilter{KeyID: "service"}, want: "a:1"},
			{only: models.CallFilter{UserID: "bob", KeyID: "ada1"}, want: ""},
			{only: models.CallFilter{Agent: "claude-code"}, want: "adab:1"},
			{only: models.CallFilter{Agent: "curl"}, want: ""},
			{only: models.CallFilter{Project: "x", UserID: "ada"}, want: "adab:1 adaa:2"},
			{only: models.CallFilter{Project: "nothing"}, want: ""},
			{only: models.CallFilter{From: minute(2), To: minute(4)}, want: "adab:1 adaa:2"},
			{only: models.CallFilter{To: minute(1)}, want: "adaa:2"},
		} {
			found, next, err := store.Sessions(t.Context(), tt.may, tt.only, models.Page{Limit: 9})
			if got := names(found); err != nil || got != tt.want || next != "" {
				t.Errorf("%+v: %q, not %q: %q, %v", tt.only, got, tt.want, next, err)
			}
			if len(all) == 0 {
				all = found
			}
		}
		var pages []models.Session
		page := models.Page{Limit: 3}
		for more := true; more; more = page.After != "" {
			found, next, err := store.Sessions(t.Context(), models.CallFilter{}, models.CallFilter{}, page)
			if err != nil {
				t.Fatal(err)
			}
			pages, page.After = append(pages, found...), next
		}
		if names(pages) != names(all) {
			t.Errorf("pages %q, all %q", names(pages), names(all))
		}
		s := all[3]
		slices.Sort(s.Models)
		var want models.Sum
		for _, outcome := range []string{models.OutcomeOK, models.OutcomeClient} {
			one := call("x", "ada1", noon)
			one.Outcome = outcome
			want.AddCall(&one)
		}
		if s.Sum != want || fmt.Sprint(s.Models) != "[m1 m2]" || s.BeganAt != minute(0) || s.EndedAt != minute(2)+2000 ||
			s.First.UserEmail != "ada@x.com" || s.First.KeyID != "ada1" {
			t.Errorf("%+v", s)
		}
		if all[0].Failed != 1 || all[2].Failed != 1 || fmt.Sprint(all[0].Models) != "[asked]" {
			t.Errorf("%+v", all)
		}
		one, err := store.Session(t.Context(), models.CallFilter{KeyID: "ada2"}, s.First.SessionN)
		if err != nil || one.Calls != 1 || one.First.KeyID != "ada2" {
			t.Errorf("%+v: %v", one, err)
		}
		for _, session := range []string{"b", models.SessionIDText(all[1].First.SessionN)} {
			calls, err := store.Calls(t.Context(), models.CallFilter{Session: session}, models.Page{Limit: 9})
			if err != nil || suffixes(calls.Rows) != "3" {
				t.Errorf("%s: %+v, %v", session, calls, err)
			}
		}
	})
}

func TestOnlyIDsOfSessionsHaveTheirForm(t *testing.T) {
	for id, want := range map[string]int64{
		"session_1": 1, "session_2147483647": 1<<31 - 1, "session_2147483648": 0, "session_0": 0, "session_-1": 0, "session_+1": 0,
		"session_01": 0, "session_": 0, "1": 0, "": 0, "session_1 OR 1": 0,
	} {
		if n, ok := models.SessionNumber(id); ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d, %t", id, n, ok)
		}
	}
}

// empty are the sessions without calls.
func empty(t *testing.T, store *models.Store) []int64 {
	t.Helper()
	numbers, last, err := store.SessionsWithoutCalls(t.Context(), 0)
	if err != nil || last != 0 {
		t.Fatal(numbers, last, err)
	}
	return numbers
}

func TestSessionsEndWithTheirLastCalls(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		sessionCalls(t, store)
		if numbers := empty(t, store); len(numbers) != 0 {
			t.Fatal(numbers)
		}
		if _, err := store.DeleteCallsBefore(t.Context(), noon.Add(5*time.Minute), 100); err != nil {
			t.Fatal(err)
		}
		numbers := empty(t, store)
		if len(numbers) != 3 {
			t.Fatal(numbers)
		}
		// One of them goes on, written by a process that remembers its number.
		again := call("again", "ada2", noon.Add(time.Hour))
		again.Session = "b"
		write(t, store, again)
		if err := store.DeleteSessions(t.Context(), numbers); err != nil {
			t.Fatal(err)
		}
		store.ForgetNames()
		for _, session := range []string{"a", "b", "new"} {
			one := call("of "+session, "ada2", noon.Add(2*time.Hour))
			one.Session = session
			write(t, store, one)
		}
		found, _, err := store.Sessions(t.Context(), models.CallFilter{}, models.CallFilter{}, models.Page{Limit: 9})
		if got := names(found); err != nil || got != "adanew:1 adaa:1 a:1 adab:2" {
			t.Errorf("%q: %v", got, err)
		}
		// The number of the last one is not given again.
		last := found[0].First.SessionN
		if _, err := store.DeleteCallsBefore(t.Context(), noon.Add(3*time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		if err := store.DeleteSessions(t.Context(), empty(t, store)); err != nil {
			t.Fatal(err)
		}
		store.ForgetNames()
		one := call("next", "ada2", noon.Add(4*time.Hour))
		one.Session = "next"
		write(t, store, one)
		if numbers := empty(t, store); len(numbers) != 1 || numbers[0] != last {
			t.Errorf("%d are left, not %d", numbers, last)
		}
		if got := read(t, store, one.ID); got.SessionN <= last {
			t.Errorf("%d after %d", got.SessionN, last)
		}
	})
}

// A process that has asked for the number of a session writes its calls later.
func TestASessionIsNotDeletedWhileItsCallsAreWritten(t *testing.T) {
	address := servertest.Postgres(t)
	store := migrated(t, address)
	createUsers(t, store, "ada")
	for i, session := range []string{"old", "new"} {
		one := call(session, "ada1", noon.Add(time.Duration(i)*time.Hour))
		one.Session = session
		write(t, store, one)
	}
	if _, err := store.DeleteCallsBefore(t.Context(), noon.Add(time.Minute), 100); err != nil {
		t.Fatal(err)
	}
	numbers := empty(t, store)
	writer, err := rawDB(t, address).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Rollback() }()
	exec := func(query string, values ...any) {
		t.Helper()
		if _, err := writer.Exec(query, values...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO ledger_names (owner, text) VALUES ('user:ada', 'old') ON CONFLICT DO NOTHING")
	deleted := make(chan error)
	go func() { deleted <- store.DeleteSessions(t.Context(), numbers) }()
	waiting := rawDB(t, address)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var n int
		if err := waiting.QueryRow("SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n); err != nil || time.Now().After(end) {
			t.Fatal("it does not wait", err)
		}
		if n > 0 {
			break
		}
	}
	exec("INSERT INTO ledger (id, session_n, rest) VALUES (1, $1, '')", numbers[0])
	if err := writer.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	var n int
	if err := waiting.QueryRow("SELECT count(*) FROM ledger_names WHERE text = 'old' AND owner <> ''").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sessions: %v", n, err)
	}
}
