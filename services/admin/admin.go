// Package admin is what administrators see and do.
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

// Service is what administrators see and do: users, everybody's keys, and the
// audit, in which every act of theirs has its row.
//
// An administrator is a live user whose address the operator has named. Of who
// registers with a password nobody knows whether the address is theirs, so that
// the addresses have to be registered before others can reach the gateway, or
// be those of an identity provider, which has verified them: an address has one
// user, and who registered first keeps it. Unregistered lists what is still free.
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
	Emails []string // of the administrators, normalised; none: there is no administrator
	Now    func() time.Time
}

// New makes a service.
func New(o Options) *Service {
	return &Service{store: o.Store, keys: o.Keys, emails: o.Emails, now: o.Now}
}

// Actor is the administrator who does something, and the request that asks for it.
type Actor struct {
	UserID    string
	RequestID string
	Address   string
}

// Unregistered are the administrators' addresses that no user has yet: whoever
// registers one becomes an administrator.
func (a *Service) Unregistered(ctx context.Context) ([]string, error) {
	if len(a.emails) == 0 {
		return nil, nil
	}
	return a.store.Unregistered(ctx, a.emails)
}

// Check says whether a user is an administrator, as the database has it now: a
// 403 for one who is not.
func (a *Service) Check(ctx context.Context, userID string) error {
	_, err := a.actor(ctx, userID)
	return err
}

// actor is the administrator of this id.
func (a *Service) actor(ctx context.Context, userID string) (*models.User, error) {
	if len(a.emails) == 0 {
		return nil, errNoAdmin
	}
	u, err := a.store.User(ctx, userID)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, auth.InvalidToken()
	case err != nil:
		return nil, api.Unavailable(fmt.Errorf("look up administrator: %w", err))
	case u.DisabledAt != 0:
		return nil, auth.InvalidToken()
	case !a.named(u.Email):
		return nil, errNoAdmin
	}
	return u, nil
}

func (a *Service) named(email string) bool { return slices.Contains(a.emails, email) }

var errNoAdmin = &api.Error{
	Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeAdminRequired,
	Message: "only administrators may do this",
}

var errNoUser = &api.Error{
	Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeUserNotFound,
	Message: "there is no such user",
}

// UserState is a user and what belongs to them.
type UserState struct {
	models.User
	models.UserSums
	Admin bool
}

// Users lists users, the newest first: all, or with an email the one who has it.
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
		return nil, false, pageFault("list users", err)
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
		states[i] = UserState{User: u, UserSums: sums[u.ID], Admin: u.DisabledAt == 0 && a.named(u.Email)}
	}
	return states, nil
}

// SetDisabled disables or enables a user. Within a second no token and no key of
// a disabled one is accepted by any replica; requests that were let in before go
// on to their end. Nobody disables themselves.
func (a *Service) SetDisabled(ctx context.Context, by Actor, userID string, disabled bool) (*UserState, error) {
	if !auth.LooksLikeID(userID) {
		return nil, errNoUser
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
		act := act{actor: actor, by: by, action: "user.enable", target: u.ID}
		u.DisabledAt = 0
		if disabled {
			act.action, u.DisabledAt = "user.disable", a.now().UnixMicro()
		}
		return a.row(act, struct {
			Email  string    `json:"email"`
			Before userState `json:"before"`
			After  userState `json:"after"`
		}{u.Email, userState{!disabled}, userState{disabled}})
	})
	if errors.Is(err, models.ErrNotFound) {
		return nil, errNoUser
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
