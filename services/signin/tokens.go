package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

const (
	accessExpiry = time.Hour
	signInExpiry = 30 * 24 * time.Hour // since the last refresh

	// sharedFor is how long a refresh token works after it was used: processes of one user share it, and some read it
	// just before another one has replaced it. They all get the same new tokens.
	sharedFor = time.Minute

	idPrefix      = "sgn_"
	refreshPrefix = "mgwr_"
)

// Tokens gives a program its tokens once its user has confirmed the code; else the error says why not (RFC 8628, 3.5).
func (s *Service) Tokens(ctx context.Context, deviceCode string) (*api.OAuthTokens, error) {
	var made *models.SignInWithOwners
	var refused error // with which the transaction is committed all the same
	err := s.Store.Change(ctx, func(tx *models.Transaction) (err error) {
		made, refused, err = s.take(tx, deviceCode)
		return err
	})
	if err != nil {
		return nil, api.OrUnavailable("sign in", err)
	}
	if refused != nil {
		return nil, refused
	}
	return s.shown(made), nil
}

func (s *Service) take(tx *models.Transaction, deviceCode string) (made *models.SignInWithOwners, refused, err error) {
	now := s.Now()
	code, err := tx.DeviceCode(auth.SignInHash(deviceCode))
	if errors.Is(err, models.ErrNotFound) || err == nil && code.Hash != auth.SignInHash(deviceCode) {
		return nil, refusal(api.CodeExpiredToken, "the device code is unknown, over or used"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	switch {
	case code.ExpiresAt <= now.UnixMicro():
		return nil, refusal(api.CodeExpiredToken, "the device code is over: sign in again"), nil
	case now.Add(pollEarly).UnixMicro() < code.AsksAt:
		code.WaitsUS += pollInterval.Microseconds()
		refused = refusal(api.CodeSlowDown, "ask every "+(time.Duration(code.WaitsUS)*time.Microsecond).String())
	case code.State == models.DeviceWaits:
		refused = refusal(api.CodeAuthorizationPending, "the user has not confirmed the code yet")
	case code.State == models.DeviceDenied:
		return nil, refusal(api.CodeAccessDenied, "the user has not let the program in"), tx.DeleteDeviceCode(code.Hash)
	}
	if refused != nil {
		code.AsksAt = now.UnixMicro() + code.WaitsUS
		return nil, refused, tx.UpdateDeviceCode(code)
	}
	if err := tx.DeleteDeviceCode(code.Hash); err != nil {
		return nil, nil, err
	}
	if _, err = tx.User(code.UserID); errors.Is(err, models.ErrNotFound) {
		return nil, refusal(api.CodeAccessDenied, "the user who confirmed the code is not there any more"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	row := models.SignIn{
		ID: idPrefix + rand.Text(), UserID: code.UserID, TeamID: code.TeamID, Generation: code.Generation, Client: code.Client,
		Address: code.Address, CreatedAt: now.UnixMicro(),
	}
	s.turn(&row, now)
	if err := tx.CreateSignIn(&row); err != nil {
		return nil, nil, err
	}
	made, err = tx.SignIn(row.ID)
	if err == nil && !made.Valid() { // what has ended since the code was confirmed
		return nil, refusal(api.CodeAccessDenied, "the user may not sign in any more"), tx.DeleteSignIn(row.ID)
	}
	return made, nil, err
}

// turn gives a sign-in its next tokens. They follow from the secret and the turn, so that all who ask with the same
// refresh token get the same ones.
func (s *Service) turn(row *models.SignIn, now time.Time) {
	row.PreviousHash, row.PreviousExpiresAt = row.Hash, row.ExpiresAt
	row.Turn++
	row.Hash, row.ExpiresAt = auth.SignInHash(access(s.Secret, row.ID, row.Turn)), now.Add(accessExpiry).UnixMicro()
	row.RefreshedAt, row.EndsAt = now.UnixMicro(), now.Add(signInExpiry).UnixMicro()
}

func (s *Service) shown(of *models.SignInWithOwners) *api.OAuthTokens {
	left := time.UnixMicro(of.ExpiresAt).Sub(s.Now()).Truncate(time.Second)
	return &api.OAuthTokens{
		AccessToken: access(s.Secret, of.ID, of.Turn), TokenType: "Bearer", ExpiresIn: int64(left / time.Second),
		RefreshToken: refresh(s.Secret, of.ID, of.Turn), Email: of.Email,
	}
}

// Refresh gives a program new tokens. A refresh token that was replaced longer ago than sharedFor ends the sign-in:
// who has it may have stolen it, or the other one (RFC 9700, 4.14.2).
func (s *Service) Refresh(ctx context.Context, token string, from audit.Entry) (*api.OAuthTokens, error) {
	id, turn, ok := s.parse(token)
	if !ok {
		return nil, invalidGrant()
	}
	var row *models.SignInWithOwners
	ended := false
	err := s.Store.Change(ctx, func(tx *models.Transaction) (err error) {
		if row, err = tx.SignIn(id); err != nil {
			return err
		}
		now := s.Now()
		switch {
		case !row.Valid() || row.EndsAt <= now.UnixMicro():
			return models.ErrNotFound
		case turn == row.Turn:
			s.turn(&row.SignIn, now)
			return tx.UpdateSignIn(&row.SignIn)
		case turn == row.Turn-1 && now.Sub(time.UnixMicro(row.RefreshedAt)) < sharedFor &&
			row.Hash == auth.SignInHash(access(s.Secret, row.ID, row.Turn)): // else another secret made the tokens
			return nil
		}
		ended = true
		return s.end(tx, row, from, "a refresh token was used again")
	})
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, invalidGrant()
	case err != nil:
		return nil, api.OrUnavailable("refresh a sign-in", err)
	case ended:
		s.Log.Warn("a sign-in is ended: a refresh token that was replaced was used again", "sign_in", row.ID, "user", row.UserID,
			"client", row.Client)
		s.Keys.EndSignIn(ctx, &row.SignIn)
		return nil, invalidGrant()
	}
	return s.shown(row), nil
}

// Revoke ends the sign-in of an access token or of a refresh token. For another text it does nothing (RFC 7009, 2.2).
func (s *Service) Revoke(ctx context.Context, token string, from audit.Entry) error {
	var id string
	if auth.LooksLikeSignIn(token) {
		found, err := s.Store.SignInByHash(ctx, auth.SignInHash(token))
		if err == nil {
			id = found.ID
		} else if !errors.Is(err, models.ErrNotFound) {
			return api.OrUnavailable("look up a sign-in", err)
		}
	} else {
		id, _, _ = s.parse(token)
	}
	if id == "" {
		return nil
	}
	err := s.endNow(ctx, id, "signed out", func(_ *models.Transaction, of *models.SignInWithOwners) (audit.Entry, error) {
		from.ActorID, from.ActorEmail = of.UserID, of.Email
		return from, nil
	})
	if errors.Is(err, models.ErrNotFound) {
		return nil
	}
	return err
}

func access(secret []byte, id string, turn int64) string {
	return auth.SignInPrefix + sign(secret, "access", id, turn)
}

func refresh(secret []byte, id string, turn int64) string {
	return refreshPrefix + strings.TrimPrefix(id, idPrefix) + "_" + strconv.FormatInt(turn, 10) + "_" + sign(secret, "refresh", id, turn)
}

func sign(secret []byte, kind, id string, turn int64) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("sign-in " + kind + " " + id + " " + strconv.FormatInt(turn, 10)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// parse reads a refresh token that this gateway has made, in whatever state its sign-in is.
func (s *Service) parse(token string) (id string, turn int64, ok bool) {
	rest, ours := strings.CutPrefix(token, refreshPrefix)
	name, rest, _ := strings.Cut(rest, "_")
	number, _, _ := strings.Cut(rest, "_")
	turn, err := strconv.ParseInt(number, 10, 64)
	if !ours || err != nil {
		return "", 0, false
	}
	id = idPrefix + name
	for _, secret := range [][]byte{s.Secret, s.Previous} {
		if len(secret) > 0 && hmac.Equal([]byte(token), []byte(refresh(secret, id, turn))) {
			return id, turn, true
		}
	}
	return "", 0, false
}

// refusal is an error of a token that may not be had yet, or any more.
func refusal(code, message string) error {
	return &api.Error{Status: http.StatusBadRequest, Type: api.TypeInvalidRequest, Code: code, Message: message}
}

// invalidGrant sends a program back to the start. The protocol has 401 for it where OAuth has 400.
func invalidGrant() error {
	return api.Unauthorized(api.CodeInvalidGrant, "the sign-in has ended: sign in again")
}
