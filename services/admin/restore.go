package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// undoTime is how long who revoked a key or disabled a user may take it back.
const undoTime = time.Minute

// RestoreKey takes the revocation of a key back, in the same time on every replica. It works with
// the same secret again. Only who revoked it can, within undoTime, and only while the key could be
// made again: its user and its team are there, and the user is in the team. Conversations that were
// kept for a team's own key are gone.
func (a *Service) RestoreKey(ctx context.Context, by Actor, keyID string) (*OwnedKeyState, error) {
	if !auth.LooksLikeKeyID(keyID) {
		return nil, auth.KeyNotFound()
	}
	var key *models.Key
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		if key, err = tx.AnyKey(keyID); err != nil {
			return nil, err
		}
		if by.Team != "" && key.TeamID != by.Team || by.own && key.UserID != by.UserID {
			return nil, models.ErrNotFound
		}
		if err := a.checkUndo(by, "the key", "revoked", key.RevokedAt, key.RevokedBy); err != nil {
			return nil, err
		}
		if err := checkRestorable(tx, key); err != nil {
			return nil, err
		}
		before := *key
		key.RevokedAt, key.RevokedBy = 0, ""
		if err := tx.UpdateKey(&before, key); err != nil {
			return nil, err
		}
		act.name, act.target = "key.restore", key.ID
		return a.keyRow(act, &before, key)
	})
	if err != nil {
		return nil, auth.KeyError("restore key", err)
	}
	return a.changed(ctx, key)
}

// RestoreUser takes back that a user was disabled. Their keys work again, and they log in again: the
// tokens of before have ended.
func (a *Service) RestoreUser(ctx context.Context, by Actor, userID string) (*UserState, error) {
	if !auth.LooksLikeID(userID) {
		return nil, userNotFound()
	}
	var u *models.User
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		if u, err = tx.User(userID); err != nil {
			return nil, err
		}
		if err := a.checkUndo(by, "the user", "disabled", u.DisabledAt, u.DisabledBy); err != nil {
			return nil, err
		}
		before := *u
		u.DisabledAt, u.DisabledBy = 0, ""
		if err := tx.UpdateUser(&before, u); err != nil {
			return nil, err
		}
		act.name = "user.restore"
		return a.userRow(act, &before, u)
	})
	if err != nil {
		return nil, orNotFound("restore user", err, userNotFound)
	}
	return a.userState(ctx, u)
}

// checkUndo refuses to take back what was not done, or by another, or too long ago.
func (a *Service) checkUndo(by Actor, what, done string, at int64, who string) error {
	switch {
	case at == 0:
		return cannotRestore(what + " is not " + done)
	case who == "" || who != by.UserID:
		return cannotRestore(what + " was " + done + " by another person, or with its user or its team, and only who did it can take it back")
	case a.now().UnixMicro()-at > undoTime.Microseconds():
		return cannotRestore(what + " was " + done + " more than 60 seconds ago, and that cannot be taken back any more")
	}
	return nil
}

// checkRestorable refuses a key that could not be made today.
func checkRestorable(tx *models.Transaction, key *models.Key) error {
	err := checkMember(tx, key)
	if err == nil {
		err = auth.CheckRoom(tx, key)
	}
	gone, ok := errors.AsType[*api.Error](err)
	if errors.Is(err, models.ErrNotFound) || ok && gone.Status == http.StatusNotFound {
		return cannotRestore("the user or the team of the key is gone, or the user has left the team")
	}
	return err
}

func cannotRestore(why string) error { return api.Conflict(api.CodeCannotRestore, "", why) }
