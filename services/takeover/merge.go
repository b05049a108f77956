package takeover

import (
	"errors"
	"fmt"
	"maps"

	"modelgateway/models"
)

func (r *run) changeUser(id string, base, t *Taken) error {
	if base.Linked {
		return nil // it never was of the takeover
	}
	u, err := r.tx.User(id)
	if err != nil {
		return err
	}
	before := *u
	m := merge{run: r, of: t.Email}
	pick(&m, "name", &u.Name, base.Name, t.Name)
	m.limits(&u.Limits, base.Limits, t.Limits)
	was := u.AdminAt != 0
	is := was
	if pick(&m, "rights of an administrator", &is, base.Admin, t.Admin); is && !was {
		u.AdminAt = r.now
	} else if !is {
		u.AdminAt = 0
	}
	return r.tx.UpdateUser(&before, u)
}

func (r *run) changeTeam(id string, base, t *Taken) error {
	team, err := r.tx.Team(id)
	if err != nil {
		return err
	}
	before := *team
	m := merge{run: r, of: "the team " + team.Name}
	m.limits(&team.Limits, base.Limits, t.Limits)
	if base.Name != t.Name {
		r.Kept = append(r.Kept, fmt.Sprintf("the team %s is called %s in LiteLLM now", team.Name, t.Name))
	}
	if err := r.tx.UpdateTeam(&before, team); err != nil {
		return err
	}
	return r.members(id, base.Members, t.Members)
}

// members changes the roles in a team that have changed there. The keys of members who have left follow what they are there.
func (r *run) members(team string, base, theirs map[string]models.Role) error {
	everyone := map[string]models.Role{}
	for user := range base {
		everyone[user] = "" // has left
	}
	maps.Copy(everyone, theirs)
	for user, role := range everyone {
		if role == base[user] {
			continue
		}
		id := r.id(models.TakenUser, user)
		now, err := r.tx.Member(team, id)
		switch {
		case err == nil && role == "":
			err = r.tx.EndMembership(now)
		case err == nil && now.Role == base[user]:
			err = r.tx.SetRole(now, role)
		case errors.Is(err, models.ErrNotFound) && base[user] == "":
			if _, err = r.tx.User(id); err == nil {
				err = r.tx.AddMember(&models.TeamMember{TeamID: team, UserID: id, Role: role, CreatedAt: r.now})
			}
		}
		if err != nil && !errors.Is(err, models.ErrNotFound) { // who was removed or deleted here stays so
			return err
		}
	}
	return nil
}

func (r *run) changeKey(id string, base, t *Taken) error {
	k, err := r.tx.AnyKey(id)
	if err != nil {
		return err
	}
	before := *k
	m := merge{run: r, of: "the key " + k.Name}
	pick(&m, "name", &k.Name, base.Name, t.Name)
	m.limits(&k.Limits, base.Limits, t.Limits)
	switch { // rotated there, and perhaps here
	case base.Former != "" && k.PreviousHash == models.LiteLLMHash+base.Former && (t.Former == base.Former || t.Former == ""):
		k.PreviousExpiresAt = min(k.PreviousExpiresAt, max(t.FormerUntil, r.now)) // its grace may have been shortened
	case base.Former == t.Former || t.Former == "":
	case k.Hash == models.LiteLLMHash+t.Former:
		k.Hash, k.Prefix = models.LiteLLMHash+t.ForeignID, t.Shown
		r.former(k, t)
	default:
		r.Kept = append(r.Kept, m.of+" was rotated here and in LiteLLM: its secret there opens nothing here")
	}
	switch {
	case t.Blocked && k.RevokedAt == 0:
		k.RevokedAt, t.RevokedAt = r.now, r.now
		r.Revoked++
	case !t.Blocked && k.RevokedAt != 0 && k.RevokedAt == base.RevokedAt: // not by someone here
		if left, err := r.hasLeft(k, t); err != nil {
			return err
		} else if !left {
			k.RevokedAt, t.RevokedAt = 0, 0
		}
	}
	if base.UserID != t.UserID || base.TeamID != t.TeamID {
		r.Kept = append(r.Kept, m.of+" has another owner in LiteLLM now: rotate it there, or make another one here")
	}
	r.changedKeys = append(r.changedKeys, before)
	return r.tx.UpdateKey(&before, k)
}

// hasLeft says whether the user of a key was a member of its team by the takeover, and is no longer: keys of such
// users are revoked here.
func (r *run) hasLeft(k *models.Key, t *Taken) (bool, error) {
	team, err := read(r.rows[place{models.TakenTeam, t.TeamID}].Taken)
	if err != nil || k.UserID == "" || team.Members[t.UserID] == "" {
		return false, err
	}
	_, err = r.tx.Member(k.TeamID, k.UserID)
	if errors.Is(err, models.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// merge changes what has changed there.
type merge struct {
	*run
	of string
}

// pick takes a value that has changed there since the last run, unless it was changed here as well.
func pick[T comparable](m *merge, what string, ours *T, base, theirs T) {
	switch {
	case theirs == base || theirs == *ours:
	case *ours == base:
		*ours = theirs
	default:
		m.Kept = append(m.Kept, fmt.Sprintf("the %s of %s: changed here and in LiteLLM", what, m.of))
	}
}

func (m *merge) limits(ours *models.Limits, base, theirs models.Limits) {
	pick(m, "expiry", &ours.ExpiresAt, base.ExpiresAt, theirs.ExpiresAt)
	pick(m, "models", &ours.Models, base.Models, theirs.Models)
	type budget struct {
		micros int64
		window models.Window
	}
	now := budget{ours.Budget, ours.BudgetWindow}
	pick(m, "budget", &now, budget{base.Budget, base.BudgetWindow}, budget{theirs.Budget, theirs.BudgetWindow})
	ours.Budget, ours.BudgetWindow = now.micros, now.window
	was, now2 := base.All(), theirs.All()
	for i, n := range ours.All() {
		pick(m, n.Name, n.Value, *was[i].Value, *now2[i].Value)
	}
}
