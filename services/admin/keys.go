package admin

import (
	"context"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/auth"
)

// OwnedKeyState is a key with its spend and its owner.
type OwnedKeyState struct {
	auth.KeyState
	UserEmail string
}

// Keys lists keys that are not revoked, the newest first: of all users, or of the
// user with this id.
func (a *Service) Keys(ctx context.Context, userID string, page models.Page) (keys []OwnedKeyState, more bool, err error) {
	if err := checkID("user_id", userID); err != nil {
		return nil, false, err
	}
	if err := checkPage(page); err != nil {
		return nil, false, err
	}
	rows, err := a.store.AllKeys(ctx, userID, oneMore(page))
	if err != nil {
		return nil, false, pageError("list keys", err)
	}
	rows, more = firstOf(rows, page)
	keys, err = a.keyStates(ctx, rows)
	return keys, more, err
}

func (a *Service) keyStates(ctx context.Context, rows []models.OwnedKey) ([]OwnedKeyState, error) {
	plain := make([]models.Key, len(rows))
	for i := range rows {
		plain[i] = rows[i].Key
	}
	states, err := a.keys.States(ctx, plain)
	if err != nil {
		return nil, err
	}
	owned := make([]OwnedKeyState, len(rows))
	for i := range states {
		owned[i] = OwnedKeyState{KeyState: states[i], UserEmail: rows[i].UserEmail}
	}
	return owned, nil
}

// ChangeKey alters the key of any user as auth.Keys.Change does. It also fixes the
// limits of the key if it names one: the owner cannot change them until a change
// with LimitedBy null.
func (a *Service) ChangeKey(ctx context.Context, by Actor, keyID string, in api.AdminKeyChange) (*OwnedKeyState, error) {
	apply, err := a.keys.ValidateChange(&in.KeyChange)
	if err != nil {
		return nil, err
	}
	if to := in.LimitedBy.Value; to != nil && *to != models.LimitedByAdmin {
		return nil, api.Invalid(api.CodeInvalidValue, "limited_by", "limited_by must be %s or null", models.LimitedByAdmin)
	}
	if !auth.LooksLikeKeyID(keyID) {
		return nil, auth.KeyNotFound()
	}
	actor, err := a.actor(ctx, by.UserID)
	if err != nil {
		return nil, err
	}
	key, err := a.store.ChangeAnyKey(ctx, keyID, func(key *models.Key) (*models.Audit, error) {
		before := *key
		if err := apply(key); err != nil {
			return nil, err
		}
		switch {
		case in.LimitedBy.Named && in.LimitedBy.Value == nil:
			key.LimitedBy = ""
		case in.LimitedBy.Named, in.Any():
			key.LimitedBy = models.LimitedByAdmin
		}
		return a.keyRow(action{actor: actor, by: by, target: key.ID}, &before, key)
	})
	if err != nil {
		return nil, auth.KeyError("change key", err)
	}
	state, err := a.keys.Updated(ctx, key)
	if err != nil {
		return nil, err
	}
	owner, err := a.store.User(ctx, key.UserID)
	if err != nil {
		return nil, api.OrUnavailable("look up the key's user", err)
	}
	return &OwnedKeyState{KeyState: *state, UserEmail: owner.Email}, nil
}

// RevokeKey revokes the key of any user as auth.Keys.Revoke does.
func (a *Service) RevokeKey(ctx context.Context, by Actor, keyID string) error {
	if !auth.LooksLikeKeyID(keyID) {
		return auth.KeyNotFound()
	}
	actor, err := a.actor(ctx, by.UserID)
	if err != nil {
		return err
	}
	key, err := a.store.RevokeAnyKey(ctx, keyID, a.now().UnixMicro(), func(before, after *models.Key) (*models.Audit, error) {
		return a.keyRow(action{actor: actor, by: by, target: after.ID}, before, after)
	})
	if err != nil {
		return auth.KeyError("revoke key", err)
	}
	a.keys.Invalidate(ctx, key)
	return nil
}
