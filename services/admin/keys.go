package admin

import (
	"context"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// OwnedKeyState is a key with its spend, its user and its team.
type OwnedKeyState struct {
	auth.KeyState
	UserEmail string
}

// KeyQuery selects keys.
type KeyQuery struct {
	models.KeyFilter
	Days int // whose calls are counted for each key; 0: none
}

// Keys lists keys, the newest first: all, or those of the team that the actor manages.
func (a *Service) Keys(ctx context.Context, by Actor, f KeyQuery, page models.Page) (keys []OwnedKeyState, more bool, err error) {
	if by.Team != "" {
		if err := a.readTeam(ctx, by, by.Team); err != nil {
			return nil, false, err
		}
		f.UserID, f.TeamID = "", by.Team
	}
	if err := checkID("user_id", f.UserID); err != nil {
		return nil, false, err
	}
	if err := checkID("team_id", f.TeamID); err != nil {
		return nil, false, err
	}
	rows, more, err := ReadPage(page, "keys", func(page models.Page) ([]models.OwnedKey, error) {
		return a.store.AllKeys(ctx, f.KeyFilter, page)
	})
	if err != nil {
		return nil, false, err
	}
	keys, err = a.keyStates(ctx, rows, f.Days)
	return keys, more, err
}

// Key returns a key of any user, or for a manager one of the team, revoked or not.
func (a *Service) Key(ctx context.Context, by Actor, keyID string) (*OwnedKeyState, error) {
	if by.Team != "" {
		if err := a.readTeam(ctx, by, by.Team); err != nil {
			return nil, err
		}
	}
	if !auth.LooksLikeKeyID(keyID) {
		return nil, auth.KeyNotFound()
	}
	return a.oneKey(ctx, models.KeyFilter{ID: keyID, TeamID: by.Team, State: models.KeysAll})
}

func (a *Service) oneKey(ctx context.Context, f models.KeyFilter) (*OwnedKeyState, error) {
	rows, err := a.store.AllKeys(ctx, f, models.Page{Limit: 1})
	if err == nil && len(rows) == 0 {
		err = models.ErrNotFound
	}
	if err != nil {
		return nil, auth.KeyError("look up key", err)
	}
	states, err := a.keyStates(ctx, rows, 0)
	if err != nil {
		return nil, err
	}
	return &states[0], nil
}

func (a *Service) keyStates(ctx context.Context, rows []models.OwnedKey, days int) ([]OwnedKeyState, error) {
	plain := make([]models.Key, len(rows))
	for i := range rows {
		plain[i] = rows[i].Key
	}
	states, err := a.keys.States(ctx, plain)
	if err != nil {
		return nil, err
	}
	if days > 0 {
		if err := a.keys.CountCalls(ctx, states, days); err != nil {
			return nil, err
		}
	}
	owned := make([]OwnedKeyState, len(rows))
	for i := range states {
		states[i].TeamName = rows[i].TeamName
		owned[i] = OwnedKeyState{KeyState: states[i], UserEmail: rows[i].UserEmail}
	}
	return owned, nil
}

// CreateKey makes a key of a user, of a team, or of a user in a team, of which the user
// must be a member. Limits that an administrator names are fixed: see ChangeKey. The key of
// another user has no secret until that user fetches it, unless an administrator asks for it.
func (a *Service) CreateKey(ctx context.Context, by Actor, in api.AdminNewKey) (key *models.Key, text string, err error) {
	if by.Team != "" {
		in.TeamID = by.Team
	}
	if in.UserID == "" && in.TeamID == "" {
		return nil, "", api.Invalid(api.CodeMissingField, "user_id",
			"send user_id, team_id or both: a key belongs to a user, to a team, or to a user in a team")
	}
	if in.UserID != "" && !auth.LooksLikeID(in.UserID) {
		return nil, "", userNotFound()
	}
	if in.Reveal && by.Team != "" {
		return nil, "", noReveal("reveal")
	}
	if key, text, err = a.keys.New(in.NewKey); err != nil {
		return nil, "", err
	}
	key.UserID = in.UserID
	if in.Any() {
		key.LimitedBy = limitedBy(by, key)
	}
	text = withhold(key, text, by, in.Reveal)
	var tell func()
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		tell, err = a.addKey(tx, act, key)
		return nil, err
	})
	if err != nil {
		return nil, "", api.OrUnavailable("create key", err)
	}
	tell()
	return key, text, nil
}

// addKey adds a key with a row of the audit. tell mails its owner, after the transaction.
func (a *Service) addKey(tx *models.Transaction, act action, key *models.Key) (tell func(), err error) {
	var owner *models.User
	if key.UserID != "" {
		if owner, err = tx.User(key.UserID); err != nil {
			return nil, orNotFound("look up user", err, userNotFound)
		}
	}
	if err := checkMember(tx, key); err != nil {
		return nil, err
	}
	if err := auth.AddKey(tx, key); err != nil {
		return nil, orNotFound("create key", err, auth.TeamNotFound)
	}
	act.name, act.target = "key.create", key.ID
	return a.tellOwner(owner, key, act), a.record(tx, act, keyDetail{
		UserID: key.UserID, TeamID: key.TeamID, Prefix: key.Prefix, ShownTo: shownTo(act, key), After: keyStateOf(key),
	})
}

// checkMember refuses a key of a user in a team that the user is not in.
func checkMember(tx *models.Transaction, key *models.Key) error {
	if key.UserID == "" || key.TeamID == "" {
		return nil
	}
	if _, err := tx.Team(key.TeamID); err != nil {
		return orNotFound("look up team", err, auth.TeamNotFound)
	}
	if _, err := tx.Member(key.TeamID, key.UserID); err != nil {
		return orNotFound("look up member", err, memberNotFound)
	}
	return nil
}

// limitedBy is who has set the limits of a key: an administrator; or a manager of the
// team, but not of the manager's own key or of one of the team alone, which all managers
// may change.
func limitedBy(by Actor, key *models.Key) string {
	switch {
	case by.Team == "":
		return models.LimitedByAdmin
	case key.UserID != "" && key.UserID != by.UserID:
		return models.LimitedByManager
	}
	return key.LimitedBy
}

// ChangeKey alters a key as auth.Keys.Change does. It also fixes the limits of the key
// if it names one that lasts: the owner cannot change them until a change with LimitedBy null. A
// manager cannot change limits that an administrator has set.
func (a *Service) ChangeKey(ctx context.Context, by Actor, keyID string, in api.AdminKeyChange) (*OwnedKeyState, error) {
	apply, err := a.keys.ValidateChange(&in.KeyChange)
	if err != nil {
		return nil, err
	}
	most := models.LimitedByAdmin
	if by.Team != "" {
		most = models.LimitedByManager
	}
	if to := in.LimitedBy.Value; to != nil && *to != most {
		return nil, api.Invalid(api.CodeInvalidValue, "limited_by", "limited_by must be %s or null", most)
	}
	key, err := a.changeKey(ctx, by, keyID, func(_ *models.Transaction, _ action, key *models.Key) error {
		if by.Team != "" && key.LimitedBy == models.LimitedByAdmin && (in.Any() || in.LimitedBy.Named) {
			return auth.LimitsFixed()
		}
		switch {
		case in.LimitedBy.Named && in.LimitedBy.Value == nil:
			key.LimitedBy = ""
		case in.LimitedBy.Named:
			key.LimitedBy = most
		case in.AnyLasting():
			key.LimitedBy = limitedBy(by, key)
		}
		return apply(key)
	})
	if err != nil {
		return nil, auth.KeyError("change key", err)
	}
	return a.changed(ctx, key)
}

// changed is the state of a key that was changed, which every replica reads again.
func (a *Service) changed(ctx context.Context, key *models.Key) (*OwnedKeyState, error) {
	a.keys.Invalidate(ctx, key)
	return a.oneKey(ctx, models.KeyFilter{ID: key.ID}) // it may have been revoked since
}

// RevokeKey revokes a key as auth.Keys.Revoke does.
func (a *Service) RevokeKey(ctx context.Context, by Actor, keyID string) error {
	key, err := a.changeKey(ctx, by, keyID, func(_ *models.Transaction, _ action, key *models.Key) error {
		key.RevokedAt, key.RevokedBy = a.now().UnixMicro(), by.UserID
		return nil
	})
	if err != nil {
		return auth.KeyError("revoke key", err)
	}
	a.keys.Invalidate(ctx, key)
	return nil
}

// changeKey changes a key that is not revoked, with a row of the audit: any key, or for
// a manager one of the team. Errors that are not of the API are of the store.
func (a *Service) changeKey(ctx context.Context, by Actor, keyID string,
	change func(*models.Transaction, action, *models.Key) error,
) (*models.Key, error) {
	if !auth.LooksLikeKeyID(keyID) {
		return nil, auth.KeyNotFound()
	}
	var key *models.Key
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		if key, err = tx.Key(keyID); err != nil {
			return nil, err
		}
		if by.Team != "" && key.TeamID != by.Team {
			return nil, models.ErrNotFound
		}
		before := *key
		if err := change(tx, act, key); err != nil {
			return nil, err
		}
		if err := tx.UpdateKey(&before, key); err != nil {
			return nil, err
		}
		act.target = key.ID
		return a.keyRow(act, &before, key)
	})
	return key, err
}
