package admin

import (
	"context"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

// RotateKey gives a key a new secret as auth.Keys.Rotate does. Another user's key has none until
// that user fetches it, unless an administrator asks for it: the former secret works on meanwhile.
// Managers cannot rotate the keys of members.
func (a *Service) RotateKey(
	ctx context.Context, by Actor, keyID string, in api.AdminKeyRotation,
) (key *models.Key, text string, err error) {
	rotate, err := a.keys.ValidateRotation(&in.KeyRotation)
	if err != nil {
		return nil, "", err
	}
	tell := func() {}
	key, err = a.changeKey(ctx, by, keyID, func(tx *models.Transaction, act action, key *models.Key) error {
		if by.Team != "" && isOfAnother(key, by) {
			return noReveal("")
		}
		if text, err = rotate(key); err != nil {
			return err
		}
		text = withhold(key, text, by, in.Reveal)
		if !isOfAnother(key, by) {
			return nil
		}
		owner, err := tx.User(key.UserID)
		tell = a.tellOwner(owner, key, act)
		return err
	})
	if err != nil {
		return nil, "", auth.KeyError("rotate key", err)
	}
	a.keys.Invalidate(ctx, key)
	tell()
	return key, text, nil
}

// ShowCreatedKey returns a new key in the form of the API, with its text, or with the page where
// its owner fetches it.
func (a *Service) ShowCreatedKey(key *models.Key, text string) api.CreatedKey {
	shown := auth.ShowCreatedKey(key, text)
	if key.Pending() {
		shown.Link = a.accounts.KeysPage()
	}
	return shown
}

// ShowRotatedKey is ShowCreatedKey for a key with a new secret.
func (a *Service) ShowRotatedKey(key *models.Key, text string) api.RotatedKey {
	shown := auth.ShowRotatedKey(key, text)
	shown.CreatedKey = a.ShowCreatedKey(key, text)
	return shown
}

// withhold takes the new secret of another user's key away, unless an administrator asks for
// it. It returns the text that the actor is shown. The command line is shown every secret.
func withhold(key *models.Key, text string, by Actor, reveal bool) string {
	if !isOfAnother(key, by) || reveal || by.commandLine {
		return text
	}
	key.Withhold()
	return ""
}

// isOfAnother says whether a key belongs to another user than the actor. That of a team alone
// does not.
func isOfAnother(key *models.Key, by Actor) bool { return key.UserID != "" && key.UserID != by.UserID }

func noReveal(param string) error {
	return api.Forbidden(api.CodeSecretWithheld, param,
		"the secret of a member's key is shown to that member only: they fetch it, logged in, on the page Keys. "+
			"To replace it revoke the key and make another one, or ask them to rotate it")
}

// tellOwner mails the owner of a key that it was made, or has a new secret, by another user.
func (a *Service) tellOwner(owner *models.User, key *models.Key, act action) func() {
	shownTo := shownTo(act, key)
	if owner == nil || !isOfAnother(key, act.by) {
		return func() {}
	}
	return func() { a.accounts.TellOfKey(owner, key.Name, shownTo) }
}

// shownTo is the address of the actor who is shown the secret of another user's key.
func shownTo(act action, key *models.Key) string {
	if !isOfAnother(key, act.by) || key.Pending() {
		return ""
	}
	return act.actor.Email
}
