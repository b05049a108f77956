package admin

import (
	"context"
	"fmt"

	"modelgateway/api"
	"modelgateway/models"
)

// OwnTeam is a team and the role in it of the user who asks.
type OwnTeam struct {
	TeamState
	Role models.Role
}

// OwnTeams lists the teams of a user, by name.
func (a *Service) OwnTeams(ctx context.Context, userID string) ([]OwnTeam, error) {
	memberships, err := a.store.Memberships(ctx, userID)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up the teams of a user: %w", err))
	}
	teams := make([]models.Team, len(memberships))
	for i := range memberships {
		teams[i] = memberships[i].Team
	}
	states, err := a.teamStates(ctx, teams)
	if err != nil {
		return nil, err
	}
	own := make([]OwnTeam, len(states))
	for i := range states {
		own[i] = OwnTeam{TeamState: states[i], Role: memberships[i].Role}
	}
	return own, nil
}

// CheckTeam returns nil if the actor may read a team.
func (a *Service) CheckTeam(ctx context.Context, by Actor) error { return a.readTeam(ctx, by, by.Team) }
