package origin

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/tests/storetest"
)

const param = "x-gateway-project"

func TestTheFormOfAProject(t *testing.T) {
	d := storetest.SQLite(t)
	s := New(d.Store, slog.New(slog.DiscardHandler), time.Now)
	for name, fits := range map[string]bool{
		"web-shop": true, "Team A: v1.2/beta_3": true, "größe": true, "プロジェクト": true, "हिन्दी": true, "٣": true,
		strings.Repeat("ж", 64): true, strings.Repeat("ж", 65): false,
		"": false, " a": false, "a ": false, "a\tb": false, "a\nb": false, "a\x00": false, "\xff": false, "a\u200db": false,
		"<b>": false, "a,b": false, "=1+1": false, "a\"b": false, "\ufffd": false, "a\u00a0b": false, "🚀": false,
	} {
		err := s.CheckProject(t.Context(), "user:ada", param, name)
		if e := api.AsError(err); (err == nil) != fits || err != nil && (e.Status != http.StatusBadRequest || e.Code != api.CodeInvalidValue || e.Param != param) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAnOwnerHasAThousandProjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		s := New(d.Store, slog.New(slog.DiscardHandler), time.Now)
		fill(t, d, "team:t", maxProjects-1)
		const owner = "team:t"
		for _, name := range []string{"last", "last", "7"} {
			if err := s.CheckProject(t.Context(), owner, param, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		other := New(d.Open(t), slog.New(slog.DiscardHandler), time.Now) // another replica
		for _, replica := range []*Service{s, other} {
			err := replica.CheckProject(t.Context(), owner, param, "more")
			if e := api.AsError(err); e.Status != http.StatusBadRequest || e.Code != api.CodeTooManyProjects || e.Param != param {
				t.Errorf("%v", err)
			}
			if err := replica.CheckProject(t.Context(), owner, param, "8"); err != nil {
				t.Error(err)
			}
		}
		if err := s.CheckProject(t.Context(), "user:t", param, "more"); err != nil {
			t.Error(err)
		}
		owners := strings.Join(d.Query(t, "SELECT owner FROM projects WHERE name = 'more' ORDER BY owner"), " ")
		if owners != "user:t" {
			t.Error(owners)
		}
	})
}

// fill gives an owner as many projects.
func fill(t *testing.T, d *storetest.Database, owner string, n int) {
	t.Helper()
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("('%s', '%d', 1)", owner, i))
	}
	d.Query(t, "INSERT INTO projects (owner, name, created_at) VALUES "+strings.Join(rows, ", "))
}

func TestReplicasTogetherKeepToTheBound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		const left = 5
		fill(t, d, "team:t", maxProjects-left)
		var logged [2]bytes.Buffer
		replicas := []*Service{
			New(d.Store, slog.New(slog.NewTextHandler(&logged[0], nil)), time.Now),
			New(d.Open(t), slog.New(slog.NewTextHandler(&logged[1], nil)), time.Now),
		}
		var group sync.WaitGroup
		var refused atomic.Int64
		for i, replica := range replicas {
			for n := range 2 * left {
				group.Go(func() {
					err := replica.CheckProject(t.Context(), "team:t", param, fmt.Sprintf("of %d-%d", i, n))
					if err != nil && api.AsError(err).Code != api.CodeTooManyProjects {
						t.Error(err)
					}
					if err != nil {
						refused.Add(1)
					}
				})
			}
		}
		group.Wait()
		late := logged[0].Len()+logged[1].Len() > 0 // then the database was too slow for some calls, which go on
		n := refused.Load()
		if rows := d.Query(t, "SELECT COUNT(*) FROM projects"); rows[0] != fmt.Sprint(maxProjects) || n > 3*left || n < 3*left && !late {
			t.Errorf("%v projects, %d refused", rows, n)
		}
	})
}

// A known project needs no database, and an unknown one does not need it either while it does not
// answer: it is asked again later.
func TestCallsGoOnWithoutTheDatabase(t *testing.T) {
	d := storetest.SQLite(t)
	var log bytes.Buffer
	now := time.Now()
	store := d.Open(t)
	s := New(store, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	ask := func(name string) {
		t.Helper()
		if err := s.CheckProject(t.Context(), "user:ada", param, name); err != nil {
			t.Error(err)
		}
	}
	ask("known")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"known", "new", "new", "newer"} {
		ask(name)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, &log)
	}
	s.store = d.Store // the database is back
	ask("new")
	now = now.Add(pause)
	ask("new")
	if rows := d.Query(t, "SELECT name FROM projects ORDER BY name"); strings.Join(rows, " ") != "known new" {
		t.Error(rows)
	}
}
