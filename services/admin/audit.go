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

// Audit lists what administrators did, the newest first.
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
		return nil, false, pageFault("read the audit", err)
	}
	rows, more = firstOf(rows, page)
	return rows, more, nil
}

// act is what an administrator does, and to what.
type act struct {
	actor  *models.User
	by     Actor
	action string
	target string
}

// row is what the audit keeps of an act.
func (a *Service) row(act act, detail any) (*models.Audit, error) {
	text, err := json.Marshal(detail)
	if err != nil {
		return nil, api.Internal(fmt.Errorf("detail of the audit: %w", err))
	}
	at := a.now().UnixMicro()
	return &models.Audit{
		// In digits, which every database sorts alike, and the same number of
		// them until 2286.
		ID: fmt.Sprintf("aud_%016d_%s", at, rand.Text()), At: at,
		ActorID: act.actor.ID, ActorEmail: act.actor.Email, Action: act.action, Target: act.target,
		Detail: string(text), RequestID: act.by.RequestID, Address: act.by.Address,
	}, nil
}

// keyRow is the row of what was done to a key; nil when nothing was.
func (a *Service) keyRow(act act, before, after *models.Key) (*models.Audit, error) {
	switch {
	case *before == *after:
		return nil, nil
	case before.RevokedAt != after.RevokedAt:
		act.action = "key.revoke"
	case before.Limits != after.Limits:
		act.action = "key.limit"
	default:
		act.action = "key.rename"
	}
	return a.row(act, struct {
		UserID string   `json:"user_id"`
		Prefix string   `json:"prefix"`
		Before keyState `json:"before"`
		After  keyState `json:"after"`
	}{after.UserID, after.Prefix, keyStateOf(before), keyStateOf(after)})
}

// keyState is what the audit tells of a key.
type keyState struct {
	Name    string `json:"name"`
	Revoked bool   `json:"revoked"`
	api.Limits
}

func keyStateOf(k *models.Key) keyState {
	return keyState{Name: k.Name, Revoked: k.RevokedAt != 0, Limits: auth.ShowLimits(&k.Limits)}
}

// checkID keeps from the database what is no id; empty is none.
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

// oneMore asks for a row beyond the page, which says whether there are more.
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

// pageFault is what a caller is told when a page could not be had.
func pageFault(what string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return api.Invalid(api.CodeInvalidValue, "after", "after names nothing of this list")
	}
	return api.OrUnavailable(what, err)
}
