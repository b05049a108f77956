package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/litellm"
)

// Undo writes a shell script of calls to LiteLLM that change there what was changed here since the
// takeover, and since the script that was written last. kept lists what cannot be changed there by calls.
// write keeps the script; when it has, the next one begins where this one ends.
func (s *Service) Undo(ctx context.Context, write func(script string) error) (kept []string, err error) {
	r, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	var accounts []string
	for at, row := range r.rows {
		accounts = append(accounts, accountOf(at.kind, row.ID))
	}
	spent, err := s.Store.AccountSpend(ctx, accounts, s.Now())
	if err != nil {
		return nil, err
	}
	u := undo{now: r.now, spent: spent}
	err = s.Store.ChangeSlowly(ctx, func(tx *models.Transaction) error {
		rows, err := tx.Takeovers()
		for i := 0; i < len(rows) && err == nil; i++ {
			err = u.compare(tx, &rows[i])
		}
		if err != nil || len(u.calls) == 0 {
			return err
		}
		return write(u.script())
	})
	return u.kept, err
}

// undo gathers calls.
type undo struct {
	now   int64
	spent map[string]models.Spend // by account
	calls []string
	kept  []string
}

// compare adds the calls for what differs from what is known of LiteLLM, and stores what is known of it then.
func (u *undo) compare(tx *models.Transaction, row *models.Takeover) error {
	known := cmp.Or(row.Exported, row.Taken)
	base, err := read(known)
	if err != nil {
		return err
	}
	now, err := u.here(tx, row, base)
	if err != nil {
		return err
	}
	if base.Linked && row.Exported == "" {
		base.Limits, base.Name = now.Limits, now.Name // they never were those of LiteLLM
	}
	if row.Kind != models.TakenTeam || row.ForeignID != ownTeam && !strings.HasPrefix(row.ForeignID, standInPrefix) {
		u.change(row, &base, &now)
	}
	if row.Exported, err = now.text(); err != nil || row.Exported == known {
		return err
	}
	return tx.SaveTakeover(row)
}

// here is what something is now that was taken over. What is gone here is as it was, but blocked.
func (u *undo) here(tx *models.Transaction, row *models.Takeover, base Taken) (now Taken, err error) {
	now = base
	switch row.Kind {
	case models.TakenUser:
		var user *models.User
		user, err = tx.User(row.ID)
		now.Name, now.Blocked, now.Limits = user.Name, user.DisabledAt != 0, user.Limits
	case models.TakenTeam:
		var team *models.Team
		team, err = tx.Team(row.ID)
		now.Name, now.NameHere, now.Limits = team.Name, "", team.Limits
	default:
		var key *models.Key
		key, err = tx.AnyKey(row.ID)
		now.Name, now.Blocked, now.Shown, now.Limits = key.Name, key.RevokedAt != 0, key.Prefix, key.Limits
	}
	if errors.Is(err, models.ErrNotFound) {
		base.Blocked = true
		return base, nil
	}
	if err != nil || base.Linked { // what a user spends who was here before is no business of LiteLLM
		return now, err
	}
	taken, err := read(row.Taken)
	if err != nil {
		return now, err
	}
	window, spent := now.Limits.BudgetWindow, u.spent[accountOf(row.Kind, row.ID)]
	own := spent.In(window)
	if taken.SpentDay >= window.FirstDay(time.UnixMicro(u.now)) {
		own -= taken.Spent
	}
	if own > 0 || window != base.Limits.BudgetWindow { // else it is what LiteLLM knows
		now.Spent = spent.In(window)
	}
	return now, nil
}

func (u *undo) change(row *models.Takeover, base, now *Taken) {
	change := u.members(row.Kind, now)
	for name, was := range u.members(row.Kind, base) {
		if reflect.DeepEqual(change[name], was) {
			delete(change, name)
		}
	}
	id := map[models.TakenKind]string{models.TakenUser: "user_id", models.TakenTeam: "team_id", models.TakenKey: "key"}[row.Kind]
	if len(change) > 0 {
		change[id] = row.ForeignID
		u.call(string(row.Kind)+"/update", change)
	}
	keep := func(differs bool, format string, args ...any) {
		if differs {
			u.kept = append(u.kept, fmt.Sprintf(format, args...))
		}
	}
	switch {
	case base.Blocked == now.Blocked:
	case row.Kind != models.TakenKey:
		keep(true, "the %s %s was disabled or deleted here", row.Kind, now.Name)
	case now.Blocked:
		u.call("key/block", map[string]any{id: row.ForeignID})
	default:
		u.call("key/unblock", map[string]any{id: row.ForeignID})
	}
	keep(base.Shown != now.Shown, "the key %s was rotated here: its new secret is none of LiteLLM", now.Name)
	keep(row.Kind == models.TakenTeam && base.Spent != now.Spent,
		"the team %s has spent %s dollars, which no call of LiteLLM can set", now.Name, dollars(now.Spent))
}

// members are what LiteLLM's calls set of a thing.
func (u *undo) members(kind models.TakenKind, t *Taken) map[string]any {
	all := map[string]any{"models": append([]string{}, t.Limits.Models.List()...), "max_budget": nil, "budget_duration": nil}
	if window := t.Limits.BudgetWindow; window != "" {
		all["max_budget"] = dollars(t.Limits.Budget)
		if duration := litellm.Duration(string(window)); duration != "" {
			all["budget_duration"] = duration
		}
	}
	for _, n := range t.Limits.All() {
		if all[n.Name] = nil; *n.Value != 0 {
			all[n.Name] = *n.Value
		}
	}
	switch kind {
	case models.TakenTeam:
		name := cmp.Or(t.NameHere, t.Name)
		if _, rest, ok := strings.Cut(name, " / "); ok { // behind the organization
			name = rest
		}
		all["team_alias"] = name
	case models.TakenUser:
		all["user_alias"], all["spend"] = t.Name, dollars(t.Spent)
	default:
		all["key_alias"], all["spend"], all["duration"] = t.Name, dollars(t.Spent), "-1" // it never expires
		if at := t.Limits.ExpiresAt; at != 0 {
			all["duration"] = fmt.Sprintf("%ds", max(at-u.now, 0)/time.Second.Microseconds())
		}
	}
	return all
}

// dollars is an amount of micro-dollars as JSON has it, exactly.
func dollars(micros int64) jsontext.Value {
	text := fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
	return jsontext.Value(strings.TrimRight(strings.TrimRight(text, "0"), "."))
}

func (u *undo) call(path string, change map[string]any) {
	body, err := json.Marshal(change, json.Deterministic(true))
	if err != nil { // values of JSON
		panic(err)
	}
	u.calls = append(u.calls, fmt.Sprintf("call %s '%s'", path, strings.ReplaceAll(string(body), "'", `'\''`)))
}

// script is a shell script with the calls.
func (u *undo) script() string {
	return `#!/bin/sh
# Changes in LiteLLM what was changed in Model Gateway since the takeover, or since the last script.
# What was made here since is not in it. LITELLM_URL is LiteLLM's address, LITELLM_MASTER_KEY its key.
# A call that fails is printed, and the others are made; the exit code is 1 then.
set -u
failed=0
call() {
	printf 'Authorization: Bearer %s' "$LITELLM_MASTER_KEY" |
		curl -fsS -o /dev/null -X POST "$LITELLM_URL/$1" -H @- -H 'Content-Type: application/json' -d "$2" ||
		{ failed=1; printf 'failed: %s %s\n' "$1" "$2" >&2; }
}
` + strings.Join(append(u.calls, "exit $failed", ""), "\n")
}

// Forget is ForgetTakeovers of the store, with a row of the audit. It returns how many keys stop working.
func (s *Service) Forget(ctx context.Context) (keys int, err error) {
	var gone []models.Key
	err = s.Store.ChangeSlowly(ctx, func(tx *models.Transaction) (err error) {
		if gone, err = tx.ForgetTakeovers(); err != nil {
			return err
		}
		return s.log(tx, "takeover.forget", map[string]int{"keys": len(gone)})
	})
	for i := range gone {
		s.Keys.Invalidate(ctx, &gone[i])
	}
	return len(gone), err
}

// log adds a row to the audit.
func (s *Service) log(tx *models.Transaction, action string, details any) error {
	row, err := audit.Row(s.Now(), audit.Entry{ActorEmail: "command line", Action: action, Target: "litellm"}, details)
	if err != nil {
		return err
	}
	return tx.Audit(row)
}
