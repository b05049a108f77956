// Package admin has the operations of administrators: on users, on the keys of
// all users, and on the audit log.
package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// Service lists and changes users and the keys of all users. Each change adds a
// row to the audit log.
//
// An administrator is an enabled user whose e-mail address is in the operator's
// list. A registration with a password does not verify the address. So the
// operator must register the addresses before other people can reach the gateway,
// or use an identity provider, which verifies them: an address has one user, and
// the first registration keeps it. Unregistered lists the addresses without one.
type Service struct {
	store  *models.Store
	keys   *auth.Keys
	emails []string
	now    func() time.Time
}

// Options is what the service needs.
type Options struct {
	Store  *models.Store
	Keys   *auth.Keys
	Emails []string // of the administrators, normalised; empty: there are none
	Now    func() time.Time
}

// New returns a Service.
func New(o Options) *Service {
	return &Service{store: o.Store, keys: o.Keys, emails: o.Emails, now: o.Now}
}

// Actor is the administrator of an action, and the request that asked for it.
type Actor struct {
	UserID    string
	RequestID string
	Address   string
}

// Unregistered returns the administrators' addresses that no user has. A user who
// registers one becomes an administrator.
func (a *Service) Unregistered(ctx context.Context) ([]string, error) {
	if len(a.emails) == 0 {
		return nil, nil
	}
	return a.store.Unregistered(ctx, a.emails)
}

// Check returns nil for an administrator and a 403 for another user. It queries
// the database each time.
func (a *Service) Check(ctx context.Context, userID string) error {
	_, err := a.actor(ctx, userID)
	return err
}

// actor returns the administrator with this id.
func (a *Service) actor(ctx context.Context, userID string) (*models.User, error) {
	if len(a.emails) == 0 {
		return nil, notAdmin()
	}
	u, err := a.store.User(ctx, userID)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, auth.InvalidToken()
	case err != nil:
		return nil, api.Unavailable(fmt.Errorf("look up administrator: %w", err))
	case u.DisabledAt != 0:
		return nil, auth.InvalidToken()
	case !a.isAdmin(u.Email):
		return nil, notAdmin()
	}
	return u, nil
}

func (a *Service) isAdmin(email string) bool { return slices.Contains(a.emails, email) }

func notAdmin() error {
	return &api.Error{
		Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeAdminRequired,
		Message: "only administrators may do this",
	}
}

func userNotFound() error {
	return &api.Error{
		Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeUserNotFound,
		Message: "there is no such user",
	}
}

// UserState is a user with the sums of their keys and spend.
type UserState struct {
	models.User
	models.UserSums
	Admin bool
}

// Users lists all users, the newest first, or the one with this email.
func (a *Service) Users(ctx context.Context, email string, page models.Page) (users []UserState, more bool, err error) {
	if email != "" {
		if email, err = account.NormalEmail(email); err != nil {
			return nil, false, err
		}
	}
	if err := checkPage(page); err != nil {
		return nil, false, err
	}
	rows, err := a.store.Users(ctx, email, oneMore(page))
	if err != nil {
		return nil, false, pageError("list users", err)
	}
	rows, more = firstOf(rows, page)
	users, err = a.userStates(ctx, rows)
	return users, more, err
}

func (a *Service) userStates(ctx context.Context, users []models.User) ([]UserState, error) {
	ids := make([]string, len(users))
	for i := range users {
		ids[i] = users[i].ID
	}
	sums, err := a.store.UserSums(ctx, ids)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("sum up users: %w", err))
	}
	states := make([]UserState, len(users))
	for i, u := range users {
		states[i] = UserState{User: u, UserSums: sums[u.ID], Admin: u.DisabledAt == 0 && a.isAdmin(u.Email)}
	}
	return states, nil
}

// SetDisabled disables or enables a user. Within a second every replica rejects
// the tokens and keys of a disabled user; requests that run already are not
// affected. Administrators cannot disable themselves.
func (a *Service) SetDisabled(ctx context.Context, by Actor, userID string, disabled bool) (*UserState, error) {
	if !auth.LooksLikeID(userID) {
		return nil, userNotFound()
	}
	if disabled && userID == by.UserID {
		return nil, &api.Error{
			Status: http.StatusConflict, Type: api.TypeInvalidRequest, Code: api.CodeInvalidValue, Param: "disabled",
			Message: "an administrator cannot disable themselves: another one has to",
		}
	}
	actor, err := a.actor(ctx, by.UserID)
	if err != nil {
		return nil, err
	}
	u, err := a.store.ChangeUser(ctx, userID, func(u *models.User) (*models.Audit, error) {
		if (u.DisabledAt != 0) == disabled {
			return nil, nil
		}
		act := action{actor: actor, by: by, name: "user.enable", target: u.ID}
		u.DisabledAt = 0
		if disabled {
			act.name, u.DisabledAt = "user.disable", a.now().UnixMicro()
		}
		return a.auditRow(act, struct {
			Email  string    `json:"email"`
			Before userState `json:"before"`
			After  userState `json:"after"`
		}{u.Email, userState{!disabled}, userState{disabled}})
	})
	if errors.Is(err, models.ErrNotFound) {
		return nil, userNotFound()
	}
	if err != nil {
		return nil, api.OrUnavailable("disable or enable user", err)
	}
	states, err := a.userStates(ctx, []models.User{*u})
	if err != nil {
		return nil, err
	}
	return &states[0], nil
}

type userState struct {
	Disabled bool `json:"disabled"`
}
