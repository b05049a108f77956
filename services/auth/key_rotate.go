package auth

import (
	"context"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// How long the former secret of a rotated key is valid, in seconds.
const (
	usualOverlap   = 24 * 60 * 60
	longestOverlap = 7 * usualOverlap
)

// Rotate gives a user's key a new secret, and returns the key with the text of the
// new secret, which cannot be shown again. The former secret works until
// PreviousExpiresAt, on every replica.
func (k *Keys) Rotate(ctx context.Context, userID, keyID string, in api.KeyRotation) (*models.Key, string, error) {
	rotate, err := k.ValidateRotation(&in)
	if err != nil {
		return nil, "", err
	}
	if !LooksLikeKeyID(keyID) {
		return nil, "", KeyNotFound()
	}
	var text string
	key, err := k.store.ChangeKey(ctx, userID, keyID, func(key *models.Key) error {
		text, err = rotate(key)
		return err
	})
	if err != nil {
		return nil, "", KeyError("rotate key", err)
	}
	k.Invalidate(ctx, key)
	return key, text, nil
}

// ValidateRotation checks every rule that does not depend on the key, and returns
// the function that gives a key a new secret and returns its text. The function
// refuses while an earlier rotation's former secret is still valid.
func (k *Keys) ValidateRotation(in *api.KeyRotation) (rotate func(*models.Key) (text string, err error), err error) {
	overlap := int64(usualOverlap)
	if in.OverlapSeconds != nil {
		overlap = *in.OverlapSeconds
	}
	if overlap < 0 || overlap > longestOverlap {
		return nil, api.Invalid(api.CodeInvalidValue, "overlap_seconds", "overlap_seconds must be from 0 to %d", longestOverlap)
	}
	return func(key *models.Key) (string, error) {
		if key.Pending() {
			return "", pending()
		}
		now := k.now()
		if now.UnixMicro() < key.PreviousExpiresAt {
			return "", rotationRunning(key)
		}
		key.PreviousHash, key.PreviousExpiresAt = key.Hash, now.UnixMicro()
		if overlap > 0 { // up to a whole second, as the API shows whole seconds
			end := now.Add(time.Duration(overlap)*time.Second + time.Second - time.Microsecond)
			key.PreviousExpiresAt = end.Truncate(time.Second).UnixMicro()
		}
		return newSecret(key), nil
	}, nil
}

// Fetch gives a user's key that has no secret its secret, and returns the key with the text,
// which cannot be shown again.
func (k *Keys) Fetch(ctx context.Context, userID, keyID string) (*models.Key, string, error) {
	if !LooksLikeKeyID(keyID) {
		return nil, "", KeyNotFound()
	}
	if err := k.store.Read(ctx, func(tx *models.Transaction) error { return k.checkVerified(tx, userID) }); err != nil {
		return nil, "", KeyError("look up the user of a key", err)
	}
	var text string
	key, err := k.store.ChangeKey(ctx, userID, keyID, func(key *models.Key) error {
		if !key.Pending() {
			return api.Conflict(api.CodeSecretFetched, "",
				"the secret of this key was fetched before, and is shown once: rotate the key to get a new one")
		}
		text = newSecret(key)
		return nil
	})
	if err != nil {
		return nil, "", KeyError("fetch the secret of a key", err)
	}
	k.Invalidate(ctx, key)
	return key, text, nil
}

func pending() error {
	return api.Conflict(api.CodeKeyPending, "",
		"the key has no secret yet: its owner fetches it, logged in, with POST /auth/keys/{key_id}/secret or on the page Keys")
}

func rotationRunning(key *models.Key) error {
	return api.Conflict(api.CodeRotationRunning, "",
		"the key was rotated before, and its former secret is valid until "+
			time.UnixMicro(key.PreviousExpiresAt).UTC().Format(time.RFC3339)+": rotate it after that, or revoke it")
}
