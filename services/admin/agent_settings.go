package admin

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

// AgentSettings are what administrators have set for the agents of a team, or with an empty id for those of all teams
// that have none of their own; nil where nothing is set.
func (a *Service) AgentSettings(ctx context.Context, teamID string) (*models.AgentSettings, error) {
	if teamID != "" {
		if _, err := a.Team(ctx, teamID); err != nil {
			return nil, err
		}
	}
	found, err := a.store.AgentSettings(ctx, teamID)
	if err != nil {
		return nil, api.OrUnavailable("look up settings of agents", err)
	}
	if found != nil && found.TeamID != teamID {
		return nil, nil //nolint:nilnil // those of all teams are not the team's own
	}
	return found, nil
}

// SetAgentSettings sets them, or removes them with an empty text. They can run commands where agents run, so that only
// administrators set them.
func (a *Service) SetAgentSettings(ctx context.Context, by Actor, teamID string, text jsontext.Value) error {
	if err := checkAgentSettings(text); err != nil {
		return err
	}
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		if teamID != "" {
			if !auth.LooksLikeID(teamID) {
				return nil, auth.TeamNotFound()
			}
			if _, err := tx.Team(teamID); err != nil {
				return nil, orNotFound("look up team", err, auth.TeamNotFound)
			}
		}
		now := a.now()
		row := &models.AgentSettings{TeamID: teamID, Settings: string(text), ChangedAt: now.UnixMicro()}
		if err := tx.SetAgentSettings(row); err != nil {
			return nil, err
		}
		target := cmp.Or(teamID, "gateway")
		detail := map[string]any{"settings": nil}
		if len(text) > 0 {
			detail["settings"] = text
		}
		return audit.Row(now, audit.Entry{
			ActorID: act.actor.ID, ActorEmail: act.actor.Email, Action: "agent_settings.set", Target: target,
			RequestID: by.RequestID, Address: by.Address,
		}, detail)
	})
	if err != nil {
		return api.OrUnavailable("set settings of agents", err)
	}
	return nil
}

// checkAgentSettings refuses what Claude Code would not read. Of the members only env is known here: all others are
// Claude Code's, and change with its releases.
func checkAgentSettings(text jsontext.Value) error {
	const param = "settings"
	if len(text) == 0 {
		return nil
	}
	if text.Kind() != '{' {
		return api.Invalid(api.CodeInvalidValue, param, "settings must be an object, as in a managed-settings.json of Claude Code")
	}
	var known struct {
		Env map[string]string `json:"env"`
	}
	if err := json.Unmarshal(text, &known); err != nil {
		wrong := api.Invalid(api.CodeInvalidValue, param, "settings must be JSON whose member env has texts only")
		if e, ok := errors.AsType[*json.SemanticError](err); ok {
			wrong.Message += ": see " + string(e.JSONPointer)
		}
		return wrong
	}
	return nil
}
