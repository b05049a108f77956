package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// seeded are the keys of a loaded store.
type seeded struct {
	plain    []string // without limits
	budgeted []string // each with a budget of its own
	ids      []string // of the plain ones
}

// budgetedShare of the keys have a budget: one of so many.
const budgetedShare = 10

// seed loads users, teams, memberships and keys, as an import does: with COPY. Every user is
// in one team, and every key is its user's and that team's.
func (s *system) seed(ctx context.Context) (all seeded, err error) {
	database, err := models.Open(s.postgres.URL)
	if err != nil {
		return all, err
	}
	defer func() { _ = database.Close() }()
	made := auth.NewKeys(auth.KeyOptions{Store: database, Now: time.Now})
	now := time.Now().UnixMicro()
	user := func(i int) string { return fmt.Sprintf("usr_SCALE%021d", i) }
	team := func(i int) string { return fmt.Sprintf("team_SCALE%021d", i) }
	tables := []struct {
		name    string
		columns []string
		rows    int
		row     func(i int) ([]any, error)
	}{
		{"users", []string{"id", "email", "name", "password_hash", "created_at", "verified_at"}, s.users, func(i int) ([]any, error) {
			return []any{user(i), fmt.Sprintf("user%d@example.com", i), fmt.Sprint("User ", i), "", now + int64(i), now}, nil
		}},
		{"teams", []string{"id", "name", "created_at"}, s.teams, func(i int) ([]any, error) {
			return []any{team(i), fmt.Sprint("Team ", i), now + int64(i)}, nil
		}},
		{"team_members", []string{"team_id", "user_id", "role", "created_at"}, s.users, func(i int) ([]any, error) {
			return []any{team(i % s.teams), user(i), "member", now}, nil
		}},
		{"api_keys", []string{
			"id", "user_id", "team_id", "name", "hash", "prefix", "created_at", "budget", "budget_window",
		}, s.keys, func(i int) ([]any, error) {
			k, text, err := made.New(api.NewKey{Name: fmt.Sprint("Key ", i)})
			if err != nil {
				return nil, err
			}
			owner, budget, window := i%s.users, int64(0), ""
			if i%budgetedShare == 0 {
				all.budgeted = append(all.budgeted, text)
				budget, window = 1_000_000_000, "month"
			} else {
				all.plain, all.ids = append(all.plain, text), append(all.ids, k.ID)
			}
			return []any{k.ID, user(owner), team(owner % s.teams), k.Name, k.Hash, k.Prefix, now + int64(i), budget, window}, nil
		}},
	}
	for _, t := range tables {
		if _, err := s.admin.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromSlice(t.rows, t.row)); err != nil {
			return all, fmt.Errorf("load %s: %w", t.name, err)
		}
	}
	_, err = s.admin.Exec(ctx, "ANALYZE")
	return all, err
}
