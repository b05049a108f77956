package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/auth"
)

// Audit lists the actions of administrators, the newest first.
func (a *Service) Audit(ctx context.Context, f models.AuditFilter, page models.Page) (rows []models.Audit, more bool, err error) {
	if err := checkID("actor_id", f.ActorID); err != nil {
		return nil, false, err
	}
	if err := checkID("target", f.Target); err != nil {
		return nil, false, err
	}
	if err := checkPage(page); err != nil {
		return nil, false, err
	}
	rows, err = a.store.Audit(ctx, f, oneMore(page))
	if err != nil {
		return nil, false, pageError("read the audit", err)
	}
	rows, more = firstOf(rows, page)
	return rows, more, nil
}

// action is an action of an administrator and its target.
type action struct {
	actor  *models.User
	by     Actor
	name   string
	target string
}

// auditRow returns the row of an action.
func (a *Service) auditRow(act action, detail any) (*models.Audit, error) {
	text, err := json.Marshal(detail)
	if err != nil {
		return nil, api.Internal(fmt.Errorf("detail of the audit: %w", err))
	}
	at := a.now().UnixMicro()
	return &models.Audit{
		// Digits, which every database sorts alike, and equally many until 2286.
		ID: fmt.Sprintf("aud_%016d_%s", at, rand.Text()), At: at,
		ActorID: act.actor.ID, ActorEmail: act.actor.Email, Action: act.name, Target: act.target,
		Detail: string(text), RequestID: act.by.RequestID, Address: act.by.Address,
	}, nil
}

// keyRow returns the row of a change to a key; nil if nothing has changed.
func (a *Service) keyRow(act action, before, after *models.Key) (*models.Audit, error) {
	switch {
	case *before == *after:
		return nil, nil
	case before.RevokedAt != after.RevokedAt:
		act.name = "key.revoke"
	case before.Limits != after.Limits:
		act.name = "key.limit"
	default:
		act.name = "key.rename"
	}
	return a.auditRow(act, struct {
		UserID string   `json:"user_id"`
		Prefix string   `json:"prefix"`
		Before keyState `json:"before"`
		After  keyState `json:"after"`
	}{after.UserID, after.Prefix, keyStateOf(before), keyStateOf(after)})
}

// keyState is a key in a row of the audit log.
type keyState struct {
	Name    string `json:"name"`
	Revoked bool   `json:"revoked"`
	api.Limits
}

func keyStateOf(k *models.Key) keyState {
	return keyState{Name: k.Name, Revoked: k.RevokedAt != 0, Limits: auth.ShowLimits(&k.Limits)}
}

// checkID refuses text that is no id; empty means none.
func checkID(param, id string) error {
	if id != "" && !auth.LooksLikeID(id) {
		return api.Invalid(api.CodeInvalidValue, param, "%s must be an id", param)
	}
	return nil
}

// The bounds of a page.
const (
	LongestPage = 200
	UsualPage   = 50
)

func checkPage(p models.Page) error {
	if p.Limit < 1 || p.Limit > LongestPage {
		return api.Invalid(api.CodeInvalidValue, "limit", "limit must be from 1 to %d", LongestPage)
	}
	return checkID("after", p.After)
}

// oneMore adds a row to the page, which shows whether there are more.
func oneMore(p models.Page) models.Page {
	p.Limit++
	return p
}

func firstOf[T any](rows []T, p models.Page) (page []T, more bool) {
	if len(rows) > p.Limit {
		return rows[:p.Limit], true
	}
	return rows, false
}

// pageError translates an error of the store about a page for the caller.
func pageError(what string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return api.Invalid(api.CodeInvalidValue, "after", "after names nothing of this list")
	}
	return api.OrUnavailable(what, err)
}
