package account

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
)

// SetupLink returns the address with which the first administrator is created; empty
// when there is one. The token in it is derived from the secret that signs tokens: all
// replicas and all starts show the same one while it is valid, and the database has its
// hash only.
func (a *Service) SetupLink(ctx context.Context) (string, error) {
	exists, err := a.store.HasAdministrator(ctx, a.admins)
	if err != nil || exists {
		return "", err
	}
	var fault error
	form := func(id string) (text, hash string) {
		const bytes = 16
		key, err := hkdf.Key(sha256.New, a.secret, nil, "modelgateway set-up token v1 "+id, bytes)
		if err != nil {
			fault = err
		}
		text = tokenText(models.PurposeSetup, base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key))
		return text, tokenHash(text)
	}
	now := a.now()
	text, err := a.store.SetupToken(ctx, now.UnixMicro(), now.Add(setupDuration).UnixMicro(), form)
	if err != nil || fault != nil {
		return "", fmt.Errorf("set-up token: %w", errors.Join(err, fault))
	}
	return a.linkURL(text), nil
}

// NeedsSetup says whether there is no administrator yet.
func (a *Service) NeedsSetup(ctx context.Context) (bool, error) {
	exists, err := a.store.HasAdministrator(ctx, a.admins)
	if err != nil {
		return false, api.Unavailable(err)
	}
	return !exists, nil
}

// Setup is a request for the first administrator.
type Setup struct {
	Token string
	Registration
	RequestID string // for the audit
	Client    string // address of the client in full, for the audit
}

// Setup creates the first administrator, also where registration is closed. It refuses
// every token once there is an administrator.
func (a *Service) Setup(ctx context.Context, s Setup) (*models.User, error) {
	if s.Token == "" {
		return nil, missingField("token")
	}
	exists, err := a.store.HasAdministrator(ctx, a.admins)
	if err != nil {
		return nil, api.Unavailable(err)
	}
	if exists {
		return nil, invalidToken(models.PurposeSetup)
	}
	if err := a.check(ctx, models.PurposeSetup, s.Token); err != nil {
		return nil, err
	}
	r, hash, err := a.prepare(ctx, s.Registration)
	if err != nil {
		return nil, err
	}
	return a.use(ctx, models.PurposeSetup, s.Token, func(_ *models.OneTimeToken, u *models.User) (*models.Audit, error) {
		a.newUser(u, r, hash)
		u.VerifiedAt, u.AdminAt = u.CreatedAt, u.CreatedAt
		return audit.Row(a.now(), audit.Entry{
			ActorID: u.ID, ActorEmail: u.Email, Action: "user.setup", Target: u.ID, RequestID: s.RequestID, Address: s.Client,
		}, struct {
			Email  string     `json:"email"`
			Before adminState `json:"before"`
			After  adminState `json:"after"`
		}{u.Email, adminState{false}, adminState{true}})
	})
}

// adminState is a user in a row of the audit.
type adminState struct {
	Admin bool `json:"admin"`
}
