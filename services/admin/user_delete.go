package admin

import (
	"context"
	"errors"
	"strings"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// DeleteUser deletes a user for ever: their tokens end, their keys are revoked, and
// their memberships are gone. The rows and sums of the ledger stay, and the address, which only
// administrators see, until it is erased.
// Administrators cannot delete themselves. The only manager of a team that has other
// members cannot be deleted either.
func (a *Service) DeleteUser(ctx context.Context, by Actor, userID string) error {
	if !auth.LooksLikeID(userID) {
		return userNotFound()
	}
	var keys []models.Key
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (row *models.Audit, err error) {
		u, err := tx.User(userID)
		if err != nil {
			return nil, err
		}
		row, keys, err = a.deleteUser(tx, act, u)
		return row, err
	})
	if err != nil {
		return orNotFound("delete user", err, userNotFound)
	}
	a.invalidate(ctx, keys)
	return nil
}

// deleteUser deletes a user, and returns the row of it and the keys that are revoked.
func (a *Service) deleteUser(tx *models.Transaction, act action, u *models.User) (*models.Audit, []models.Key, error) {
	if u.ID == act.by.UserID {
		return nil, nil, api.Conflict(api.CodeInvalidValue, "user_id", "an administrator cannot delete themselves: another one has to")
	}
	if a.isAdmin(u) {
		if err := a.checkOtherAdmin(tx, u.ID); err != nil {
			return nil, nil, err
		}
	}
	if err := checkManaged(tx, u.ID, ""); err != nil {
		return nil, nil, err
	}
	keys, err := tx.DeleteUser(u.ID, a.now().UnixMicro())
	if err != nil {
		return nil, nil, err
	}
	act.name, act.target = "user.delete", u.ID
	row, err := a.auditRow(act, userDetail{Email: u.Email, Before: a.userDetails(u), RevokedKeys: idsOf(keys)})
	return row, keys, err
}

// EraseUser removes the address and the name of a deleted user from the database, the audit included.
// A user who is still there is refused, or deleted first if delete says so: also another one who has the
// address of the deleted one now. ErrNotFound after it: nothing names the user any more.
func (a *Service) EraseUser(ctx context.Context, by Actor, userID string, deleteToo bool) error {
	if !auth.LooksLikeID(userID) {
		return userNotFound()
	}
	var keys []models.Key
	err := a.store.ChangeSlowly(ctx, a.acting(by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		email, err := tx.EmailOf(userID)
		if err != nil {
			return nil, err
		}
		u, err := tx.UserByEmail(email)
		switch {
		case errors.Is(err, models.ErrNotFound):
		case err != nil:
			return nil, err
		case !deleteToo:
			return nil, api.Conflict(api.CodeInvalidValue, "delete",
				"the user "+u.ID+" has this address and is not deleted: delete: true deletes and erases in one go")
		default:
			var row *models.Audit
			if row, keys, err = a.deleteUser(tx, act, u); err != nil {
				return nil, err
			}
			if err := tx.Audit(row); err != nil {
				return nil, err
			}
		}
		act.name, act.target = "user.erase", userID
		row, err := a.auditRow(act, struct{}{})
		if err != nil {
			return nil, err
		}
		return row, tx.EraseUsers(email)
	}))
	if err != nil {
		return orNotFound("erase user", err, userNotFound)
	}
	a.invalidate(ctx, keys)
	return nil
}

// checkManaged refuses to end a user's role of manager where a team would be left with
// members and without a manager: in one team, or in all teams if teamID is empty.
func checkManaged(tx *models.Transaction, userID, teamID string) error {
	teams, err := tx.Unmanaged(userID, teamID)
	if err != nil || len(teams) == 0 {
		return err
	}
	return api.Conflict(api.CodeLastManager, "",
		"this is the last manager of "+strings.Join(teams, ", ")+": make another member a manager first")
}

// invalidate removes revoked keys from the caches.
func (a *Service) invalidate(ctx context.Context, keys []models.Key) {
	for i := range keys {
		a.keys.Invalidate(ctx, &keys[i])
	}
}

func idsOf(keys []models.Key) []string {
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].ID
	}
	return ids
}
