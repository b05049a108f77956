// Package signin lets programs in without a key: a program asks for a code, its user confirms the code in the console
// (RFC 8628), and the program gets an access token and a refresh token. The protocol is that of Claude Code's own
// gateway (claude gateway, GET /protocol, 2.1.330), which is OAuth but for the client ids, which it has not.
package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

const (
	codeExpiry   = 10 * time.Minute
	pollInterval = 5 * time.Second
	pollEarly    = time.Second // a program may come so much too early: networks are not even

	devicePrefix = "mgwd_"
	userAlphabet = "BCDFGHJKLMNPQRSTVWXZ" // RFC 8628, 6.1: without vowels, no words
	userLetters  = 8
)

// Service signs programs in.
type Service struct {
	Store     *models.Store
	Keys      *auth.Keys // whose cache has access tokens
	Secret    []byte     // makes tokens
	Previous  []byte     // made those of before; empty: none
	PublicURL string
	Log       *slog.Logger
	Now       func() time.Time
}

// Begin gives a program the codes with which it is signed in. client is what it says that it is.
func (s *Service) Begin(ctx context.Context, client, address string) (*api.DeviceAuthorization, error) {
	const draws = 3 // of the same user code twice within minutes, in 25 billion
	device, now := devicePrefix+rand.Text()+rand.Text(), s.Now()
	code := &models.DeviceCode{
		Hash: auth.SignInHash(device), Client: client, Address: address, WaitsUS: pollInterval.Microseconds(),
		CreatedAt: now.UnixMicro(), ExpiresAt: now.Add(codeExpiry).UnixMicro(),
	}
	var user string
	err := models.ErrTaken
	for range draws {
		if !errors.Is(err, models.ErrTaken) {
			break
		}
		user = newUserCode()
		code.UserCode = auth.SignInHash(user)
		err = s.Store.Change(ctx, func(tx *models.Transaction) error { return tx.CreateDeviceCode(code) })
	}
	if err != nil {
		return nil, api.OrUnavailable("begin a sign-in", err)
	}
	shown := user[:userLetters/2] + "-" + user[userLetters/2:]
	page := s.PublicURL + "/device"
	return &api.DeviceAuthorization{
		DeviceCode: device, UserCode: shown, VerificationURI: page, VerificationURIComplete: page + "?user_code=" + shown,
		ExpiresIn: int64(codeExpiry / time.Second), Interval: int64(pollInterval / time.Second),
	}, nil
}

func newUserCode() string {
	code := make([]byte, userLetters)
	for i := range code {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(userAlphabet)))) // never fails: it ends the process instead
		code[i] = userAlphabet[n.Int64()]
	}
	return string(code)
}

// Find is the wish that a user code stands for, for its page. It fails for one that is over, or that was answered.
func (s *Service) Find(ctx context.Context, userCode string) (found *models.DeviceCode, err error) {
	err = s.Store.Read(ctx, func(tx *models.Transaction) (err error) {
		found, err = s.waiting(tx, userCode)
		return err
	})
	if err != nil {
		return nil, api.OrUnavailable("look up a code", err)
	}
	return found, nil
}

func (s *Service) waiting(tx *models.Transaction, userCode string) (*models.DeviceCode, error) {
	code, err := tx.DeviceCode(auth.SignInHash(letters(userCode)))
	if errors.Is(err, models.ErrNotFound) || err == nil && (code.State != models.DeviceWaits || code.ExpiresAt <= s.Now().UnixMicro()) {
		return nil, api.NotFound(api.CodeSignInNotFound,
			"there is no such code, or it is over: codes are valid for ten minutes; sign in from the program again")
	}
	return code, err
}

// letters are those of a user code as it was typed.
func letters(userCode string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(userCode))
}

// Answer is what a user says to a code.
type Answer struct {
	UserID   string
	UserCode string
	TeamID   string // that pays; empty for none
	Approve  bool
	From     audit.Entry // the request
}

// Confirm approves or denies a code.
func (s *Service) Confirm(ctx context.Context, a Answer) error {
	err := s.Store.Change(ctx, func(tx *models.Transaction) error {
		code, err := s.waiting(tx, a.UserCode)
		if err != nil {
			return err
		}
		u, err := tx.User(a.UserID)
		if errors.Is(err, models.ErrNotFound) || err == nil && u.DisabledAt != 0 {
			return auth.InvalidToken()
		}
		if err != nil {
			return err
		}
		code.State = models.DeviceDenied
		if !a.Approve {
			return tx.UpdateDeviceCode(code)
		}
		if a.TeamID != "" {
			if err := member(tx, a.TeamID, u.ID); err != nil {
				return err
			}
		}
		code.State, code.UserID, code.Generation, code.TeamID = models.DeviceApproved, u.ID, u.Generation, a.TeamID
		if err := tx.UpdateDeviceCode(code); err != nil {
			return err
		}
		entry := a.From.Own(u)
		entry.Action = "sign_in.approve"
		row, err := audit.Row(s.Now(), entry, map[string]any{"client": code.Client, "address": code.Address, "team_id": a.TeamID})
		if err != nil {
			return err
		}
		return tx.Audit(row)
	})
	if err != nil {
		return api.OrUnavailable("confirm a code", err)
	}
	return nil
}

func member(tx *models.Transaction, teamID, userID string) error {
	if !auth.LooksLikeID(teamID) {
		return auth.TeamNotFound()
	}
	_, err := tx.Member(teamID, userID)
	if errors.Is(err, models.ErrNotFound) {
		return auth.TeamNotFound()
	}
	return err
}

// List are the programs that are signed in: those of a user, or of all users with an empty id.
func (s *Service) List(ctx context.Context, userID string) ([]models.SignInWithOwners, error) {
	all, err := s.Store.SignIns(ctx, userID, s.Now().UnixMicro())
	if err != nil {
		return nil, api.OrUnavailable("list sign-ins", err)
	}
	live := all[:0]
	for i := range all {
		if all[i].Valid() {
			live = append(live, all[i])
		}
	}
	return live, nil
}

// End ends a sign-in of a user, or of any user with an empty id. It is refused here at once, and by other replicas
// within a second. by is the user who asks for it.
func (s *Service) End(ctx context.Context, userID, id, by string, from audit.Entry) error {
	if !auth.LooksLikeID(id) {
		return notFound()
	}
	err := s.endNow(ctx, id, "", func(tx *models.Transaction, of *models.SignInWithOwners) (audit.Entry, error) {
		if userID != "" && of.UserID != userID {
			return from, models.ErrNotFound
		}
		actor, err := tx.User(by)
		if err != nil {
			return from, err
		}
		return from.Own(actor), nil
	})
	if errors.Is(err, models.ErrNotFound) {
		return notFound()
	}
	return err
}

// endNow ends a sign-in in a transaction of its own, by the actor that who returns. The error is models.ErrNotFound
// where there is none.
func (s *Service) endNow(
	ctx context.Context, id, why string, who func(*models.Transaction, *models.SignInWithOwners) (audit.Entry, error),
) error {
	var ended *models.SignInWithOwners
	err := s.Store.Change(ctx, func(tx *models.Transaction) (err error) {
		if ended, err = tx.SignIn(id); err != nil {
			return err
		}
		entry, err := who(tx, ended)
		if err != nil {
			return err
		}
		return s.end(tx, ended, entry, why)
	})
	switch {
	case errors.Is(err, models.ErrNotFound):
		return err
	case err != nil:
		return api.OrUnavailable("end a sign-in", err)
	}
	s.Keys.EndSignIn(ctx, &ended.SignIn)
	return nil
}

// end removes a sign-in, with a row of the audit.
func (s *Service) end(tx *models.Transaction, of *models.SignInWithOwners, entry audit.Entry, why string) error {
	if err := tx.DeleteSignIn(of.ID); err != nil {
		return err
	}
	entry.Action, entry.Target = "sign_in.end", of.UserID
	detail := map[string]any{"sign_in": of.ID, "client": of.Client, "team_id": of.TeamID}
	if why != "" {
		detail["reason"] = why
	}
	row, err := audit.Row(s.Now(), entry, detail)
	if err != nil {
		return err
	}
	return tx.Audit(row)
}

func notFound() error { return api.NotFound(api.CodeSignInNotFound, "there is no such sign-in") }
