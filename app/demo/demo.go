// Package demo fills the database of the demonstration with a week of traffic that never
// happened. Everything in it says so: the names of its people, teams and keys begin with
// "demo", and so does the id of each request.
package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// key is an application of the demonstration, and what it does.
type key struct {
	name, team, user, dialect string
	models                    []string
	budget                    api.USD // 0 = none
	window                    models.Window
	share                     int  // of the calls, in percent
	input, output             int  // tokens of a typical call
	stream                    bool // what it asks for
	nightly                   bool // it works from 1 to 3 o'clock only

	id, userID, teamID string // in the database
}

const dollar = 1_000_000 // micro-dollars

func keys() []key {
	const (
		ines, tom, amara     = "demo-ines@demo.example", "demo-tom@demo.example", "demo-amara@demo.example"
		support, engineering = "Demo support", "Demo engineering"
	)
	return []key{
		{
			name: "demo support-bot", team: support, user: ines, dialect: "chat", budget: 60 * dollar, window: models.Month,
			models: []string{"claude-haiku-4-5", "claude-haiku-4-5", "gpt-6-luna"},
			share:  46, input: 2400, output: 350, stream: true,
		},
		{
			name: "demo doc-search", team: support, user: tom, dialect: "chat", budget: 20 * dollar, window: models.Month,
			models: []string{"gemini-3.5-flash-lite", "gpt-6-luna"}, share: 30, input: 5200, output: 220,
		},
		{
			name: "demo coding", team: engineering, user: amara, dialect: "messages",
			models: []string{"claude-sonnet-5"}, share: 12, input: 21000, output: 900, stream: true,
		},
		{
			name: "demo eval-nightly", team: engineering, user: amara, dialect: "chat", budget: 4 * dollar, window: models.Week,
			models: []string{"gpt-6-sol", "gemini-3.8-flash"}, share: 8, input: 1500, output: 700, nightly: true,
		},
		{
			name: "demo notebook", user: tom, dialect: "responses",
			models: []string{"gpt-6-sol"}, share: 4, input: 900, output: 500, stream: true,
		},
	}
}

const (
	week  = 7 * 24 * time.Hour
	calls = 3000
	batch = 500 // rows of a transaction
)

// Fill makes people, teams, keys and their calls of the week before now.
func Fill(ctx context.Context, s *app.Services, now time.Time) error {
	all := keys()
	if err := people(ctx, s, all); err != nil {
		return fmt.Errorf("people of the demonstration: %w", err)
	}
	const seed = 20                                                                         // always the same week
	g := &generator{models: s.Models, random: rand.New(rand.NewPCG(seed, seed)), keys: all} //nolint:gosec // nothing secret is made of it
	rows := make([]models.Call, 0, calls)
	for range calls {
		call, err := g.call(now)
		if err != nil {
			return fmt.Errorf("calls of the demonstration: %w", err)
		}
		rows = append(rows, call)
	}
	slices.SortFunc(rows, func(a, b models.Call) int { return int(a.BeganAt - b.BeganAt) })
	for part := range slices.Chunk(rows, batch) {
		if err := s.Store.WriteCalls(ctx, "demo", part); err != nil {
			return fmt.Errorf("calls of the demonstration: %w", err)
		}
	}
	if err := s.Store.Backdate(ctx, creationTimes(all, now)); err != nil {
		return fmt.Errorf("keys of the demonstration: %w", err)
	}
	return lastUses(ctx, s, rows)
}

// creationTimes says when the keys were made: one after the other, before the calls.
func creationTimes(all []key, now time.Time) []models.Made {
	dates := make([]models.Made, len(all))
	for i := range all {
		k, before := &all[i], time.Duration(len(all)-i)*time.Minute
		dates[i] = models.Made{KeyID: k.id, UserID: k.userID, TeamID: k.teamID, At: now.Add(-week - before).UnixMicro()}
	}
	return dates
}

// lastUses says of each key and person when their last call was, as calls do.
func lastUses(ctx context.Context, s *app.Services, rows []models.Call) error {
	keys, users := map[string]int64{}, map[string]int64{}
	for i := range rows { // from the oldest one on
		keys[rows[i].KeyID], users[rows[i].UserID] = rows[i].BeganAt, rows[i].BeganAt
	}
	return errors.Join(s.Store.TouchKeys(ctx, keys), s.Store.TouchUsers(ctx, users))
}

// people makes the teams, users and keys, and writes their ids into all.
func people(ctx context.Context, s *app.Services, all []key) error {
	teams, users := map[string]string{"": ""}, map[string]string{}
	by := admin.CommandLine()
	for i := range all {
		k := &all[i]
		if _, made := teams[k.team]; !made {
			team, err := s.Admin.CreateTeam(ctx, by, api.NewTeam{Name: k.team, KeyLimits: limits(100*dollar, models.Month)})
			if err != nil {
				return err
			}
			teams[k.team] = team.ID
		}
		k.teamID = teams[k.team]
		if _, made := users[k.user]; !made {
			user, err := s.Admin.CreateUser(ctx, by, api.NewUser{Email: k.user, Name: nameOf(k.user), TeamID: k.teamID})
			if err != nil {
				return err
			}
			users[k.user] = user.ID
		}
		k.userID = users[k.user]
		made, _, err := s.Admin.CreateKey(ctx, by, api.AdminNewKey{
			NewKey: api.NewKey{Name: k.name, TeamID: k.teamID, KeyLimits: limits(k.budget, k.window)}, UserID: k.userID,
		})
		if err != nil {
			return err
		}
		k.id = made.ID
	}
	return nil
}

// nameOf is Demo Ines for demo-ines@demo.example.
func nameOf(email string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(email, "demo-"), "@")
	return "Demo " + strings.ToUpper(first[:1]) + first[1:]
}

func limits(budget api.USD, window models.Window) (l api.KeyLimits) {
	if budget > 0 {
		each := string(window)
		l.Budget, l.BudgetWindow = api.Field[api.USD]{Named: true, Value: &budget}, api.Field[string]{Named: true, Value: &each}
	}
	return l
}
