package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// TeamState is a team with its sums.
type TeamState struct {
	models.Team
	models.TeamSums
	Spend models.Spend

	at time.Time // the time of Spend, which selects its windows
}

// Teams lists all teams, the newest first.
func (a *Service) Teams(ctx context.Context, page models.Page) (teams []TeamState, more bool, err error) {
	rows, more, err := ReadPage(page, "teams", func(page models.Page) ([]models.Team, error) { return a.store.Teams(ctx, page) })
	if err != nil {
		return nil, false, err
	}
	teams, err = a.teamStates(ctx, rows)
	return teams, more, err
}

// Team returns the team with this id.
func (a *Service) Team(ctx context.Context, id string) (*TeamState, error) {
	if !auth.LooksLikeID(id) {
		return nil, auth.TeamNotFound()
	}
	team, err := a.store.Team(ctx, id)
	if err != nil {
		return nil, orNotFound("look up team", err, auth.TeamNotFound)
	}
	return a.teamState(ctx, team)
}

func (a *Service) teamState(ctx context.Context, team *models.Team) (*TeamState, error) {
	states, err := a.teamStates(ctx, []models.Team{*team})
	if err != nil {
		return nil, err
	}
	return &states[0], nil
}

func (a *Service) teamStates(ctx context.Context, teams []models.Team) ([]TeamState, error) {
	if len(teams) == 0 {
		return nil, nil
	}
	ids, accounts := make([]string, len(teams)), make([]string, len(teams))
	for i := range teams {
		ids[i], accounts[i] = teams[i].ID, models.TeamAccount(teams[i].ID)
	}
	now := a.now()
	sums, err := a.store.TeamSums(ctx, ids)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("sum up teams: %w", err))
	}
	spent, err := a.store.AccountSpend(ctx, accounts, now)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up what teams have spent: %w", err))
	}
	states := make([]TeamState, len(teams))
	for i, team := range teams {
		states[i] = TeamState{Team: team, TeamSums: sums[team.ID], Spend: spent[accounts[i]], at: now}
	}
	return states, nil
}

// CreateTeam adds a team without members.
func (a *Service) CreateTeam(ctx context.Context, by Actor, in api.NewTeam) (*TeamState, error) {
	name, err := teamName(in.Name)
	if err != nil {
		return nil, err
	}
	limit, err := a.keys.ValidateLimits(&in.KeyLimits)
	if err != nil {
		return nil, err
	}
	team := &models.Team{ID: "team_" + rand.Text(), Name: name, CreatedAt: a.now().UnixMicro()}
	if err := limit(&team.Limits); err != nil {
		return nil, err
	}
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		if err := tx.CreateTeam(team); err != nil {
			return nil, teamNameError(err)
		}
		act.name, act.target = "team.create", team.ID
		return a.auditRow(act, teamDetail{Name: team.Name, After: teamDetails(team)})
	})
	if err != nil {
		return nil, api.OrUnavailable("create team", err)
	}
	return a.teamState(ctx, team)
}

// ChangeTeam changes the name and the limits of a team. The change is effective within
// a second on every replica; requests that run already are not affected.
func (a *Service) ChangeTeam(ctx context.Context, by Actor, teamID string, in api.TeamChange) (*TeamState, error) {
	var name string
	if in.Name.Named {
		if in.Name.Value == nil {
			return nil, api.Invalid(api.CodeInvalidValue, "name", "name must be a string, not null")
		}
		var err error
		if name, err = teamName(*in.Name.Value); err != nil {
			return nil, err
		}
	}
	limit, err := a.keys.ValidateLimits(&in.KeyLimits)
	if err != nil {
		return nil, err
	}
	var team *models.Team
	err = a.actOnTeam(ctx, by, teamID, func(tx *models.Transaction, act action, t *models.Team) (*models.Audit, error) {
		before := *t
		team = t
		if in.Name.Named {
			t.Name = name
		}
		if err := limit(&t.Limits); err != nil {
			return nil, err
		}
		if *t == before {
			return nil, nil
		}
		if err := tx.UpdateTeam(&before, t); err != nil {
			return nil, teamNameError(err)
		}
		act.name = "team.rename"
		if t.Limits != before.Limits {
			act.name = "team.limit"
		}
		return a.auditRow(act, teamDetail{Name: t.Name, Before: teamDetails(&before), After: teamDetails(t)})
	})
	if err != nil {
		return nil, api.OrUnavailable("change team", err)
	}
	return a.teamState(ctx, team)
}

// DeleteTeam deletes a team for ever: its keys are revoked, its memberships and
// invitations are gone. The rows and sums of the ledger stay.
func (a *Service) DeleteTeam(ctx context.Context, by Actor, teamID string) error {
	var keys []models.Key
	err := a.actOnTeam(ctx, by, teamID, func(tx *models.Transaction, act action, t *models.Team) (_ *models.Audit, err error) {
		if keys, err = tx.DeleteTeam(t.ID, a.now().UnixMicro()); err != nil {
			return nil, err
		}
		act.name = "team.delete"
		return a.auditRow(act, teamDetail{Name: t.Name, Before: teamDetails(t), RevokedKeys: idsOf(keys)})
	})
	if err != nil {
		return api.OrUnavailable("delete team", err)
	}
	a.invalidate(ctx, keys)
	return nil
}

// actOnTeam is act on a team, which is the target of the audit.
func (a *Service) actOnTeam(ctx context.Context, by Actor, teamID string,
	do func(tx *models.Transaction, act action, team *models.Team) (*models.Audit, error),
) error {
	if !auth.LooksLikeID(teamID) {
		return auth.TeamNotFound()
	}
	return a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		team, err := tx.Team(teamID)
		if err != nil {
			return nil, orNotFound("look up team", err, auth.TeamNotFound)
		}
		act.target = team.ID
		return do(tx, act, team)
	})
}

const longestTeamName = 100 // characters

// teamName returns the name as it is stored, without spaces around it.
func teamName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", api.Invalid(api.CodeMissingField, "name", "name is missing: it tells teams apart")
	case utf8.RuneCountInString(name) > longestTeamName:
		return "", api.Invalid(api.CodeInvalidValue, "name", "name must have at most %d characters", longestTeamName)
	}
	return name, api.CheckVisible("name", name)
}

func teamNameError(err error) error {
	if errors.Is(err, models.ErrTaken) {
		return api.Conflict(api.CodeTeamNameTaken, "name", "another team has this name")
	}
	return err
}
