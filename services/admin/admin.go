// Package admin has the operations of administrators: on users, teams, the keys of
// all users and the audit log; and those of managers on their teams.
package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// Service lists and changes users, teams and keys. Each change adds a row to the
// audit log.
//
// An administrator is an enabled user who was made one, or whose e-mail address is in
// the operator's list and was proven to be the user's: by an identity provider, by a
// mail, by the set-up token or on the command line. A registration with a password
// proves nothing.
type Service struct {
	store    *models.Store
	keys     *auth.Keys
	accounts *account.Service
	emails   []string
	now      func() time.Time
}

// Options is what the service needs.
type Options struct {
	Store    *models.Store
	Keys     *auth.Keys
	Accounts *account.Service
	Emails   []string // of the administrators, normalised; empty: only those who were made one
	Now      func() time.Time
}

// New returns a Service.
func New(o Options) *Service {
	return &Service{store: o.Store, keys: o.Keys, accounts: o.Accounts, emails: o.Emails, now: o.Now}
}

// Actor asks for an action: an administrator, or a manager of a team, and the request;
// or the command line.
type Actor struct {
	UserID    string
	RequestID string
	Address   string

	// Team is the id of the team that the actor manages; the action must be on this team.
	// Empty for an administrator.
	Team string

	own         bool // the action is on the actor's own things, and wants no rights
	leaves      bool // the action ends the actor's own membership of Team: a member may do it
	commandLine bool
}

// CommandLine is the actor of the program's command line, which may do all that
// administrators may.
func CommandLine() Actor { return Actor{commandLine: true} }

// Own is the actor for an action on their own things.
func (by Actor) Own() Actor {
	by.own = true
	return by
}

// Unproven returns how many of the administrators' addresses give no rights, because no
// user has verified them.
func (a *Service) Unproven(ctx context.Context) (int, error) {
	if len(a.emails) == 0 {
		return 0, nil
	}
	return a.store.Unproven(ctx, a.emails)
}

// First returns the administrator with the oldest account, or models.ErrNotFound.
func (a *Service) First(ctx context.Context) (*models.User, error) {
	return a.store.Administrator(ctx, a.emails)
}

// Check returns nil for an administrator and a 403 for another user. It queries
// the database each time.
func (a *Service) Check(ctx context.Context, userID string) error {
	u, err := a.store.User(ctx, userID)
	return a.checkAdmin(u, err)
}

// checkAdmin checks the result of a look-up of an administrator.
func (a *Service) checkAdmin(u *models.User, err error) error {
	if err := checkUser(u, err); err != nil {
		return err
	}
	if !a.isAdmin(u) {
		return notAdmin()
	}
	return nil
}

// checkUser checks the result of a look-up of the user of a token.
func checkUser(u *models.User, err error) error {
	switch {
	case errors.Is(err, models.ErrNotFound):
		return auth.InvalidToken()
	case err != nil:
		return api.Unavailable(fmt.Errorf("look up the user of the token: %w", err))
	case u.DisabledAt != 0:
		return auth.InvalidToken()
	}
	return nil
}

// authorize returns the user of an action: an administrator, or a manager of by.Team.
func (a *Service) authorize(tx *models.Transaction, by Actor) (*models.User, error) {
	if by.commandLine {
		return &models.User{Email: "command line"}, nil
	}
	u, err := tx.User(by.UserID)
	if by.own {
		return u, checkUser(u, err)
	}
	if by.Team == "" {
		return u, a.checkAdmin(u, err)
	}
	if err := checkUser(u, err); err != nil {
		return nil, err
	}
	if !auth.LooksLikeID(by.Team) {
		return nil, auth.TeamNotFound()
	}
	m, err := tx.Member(by.Team, by.UserID)
	if by.leaves && err == nil {
		return u, nil
	}
	return u, checkManager(m, err)
}

// lookUpActor is authorize outside a transaction.
func (a *Service) lookUpActor(ctx context.Context, by Actor) (actor *models.User, err error) {
	err = a.store.Read(ctx, func(tx *models.Transaction) error {
		actor, err = a.authorize(tx, by)
		return err
	})
	if err != nil {
		return nil, api.OrUnavailable("look up actor", err)
	}
	return actor, nil
}

// readTeam returns an error unless there is the team and the actor may read it.
func (a *Service) readTeam(ctx context.Context, by Actor, teamID string) error {
	if !auth.LooksLikeID(teamID) {
		return auth.TeamNotFound()
	}
	if _, err := a.lookUpActor(ctx, by); err != nil {
		return err
	}
	if _, err := a.store.Team(ctx, teamID); err != nil {
		return orNotFound("look up team", err, auth.TeamNotFound)
	}
	return nil
}

// checkManager checks the result of a look-up of a membership.
func checkManager(m *models.TeamMember, err error) error {
	if err != nil {
		return orNotFound("look up membership", err, auth.TeamNotFound)
	}
	if m.Role != models.RoleManager {
		return api.Forbidden(api.CodeManagerRequired, "", "only managers of the team may do this")
	}
	return nil
}

// orNotFound is the error of notFound where the store has found nothing, else err or
// a 503.
func orNotFound(what string, err error, notFound func() error) error {
	if errors.Is(err, models.ErrNotFound) {
		return notFound()
	}
	return api.OrUnavailable(what, err)
}

// act runs an action and adds its row of the audit, in one transaction. do returns
// the row, or nil if nothing has changed.
func (a *Service) act(ctx context.Context, by Actor, do func(tx *models.Transaction, act action) (*models.Audit, error)) error {
	return a.store.Change(ctx, a.acting(by, do))
}

// acting is the transaction of an action.
func (a *Service) acting(by Actor, do func(tx *models.Transaction, act action) (*models.Audit, error)) func(tx *models.Transaction) error {
	return func(tx *models.Transaction) error {
		actor, err := a.authorize(tx, by)
		if err != nil {
			return err
		}
		row, err := do(tx, action{actor: actor, by: by})
		if err != nil {
			return err
		}
		return tx.Audit(row)
	}
}

// isAdmin says whether a user is an administrator: by name, or by a verified address of
// the settings.
func (a *Service) isAdmin(u *models.User) bool {
	return u.DisabledAt == 0 && (u.AdminAt != 0 || u.VerifiedAt != 0 && slices.Contains(a.emails, u.Email))
}

func notAdmin() error {
	return api.Forbidden(api.CodeAdminRequired, "", "only administrators may do this")
}

func userNotFound() error { return api.NotFound(api.CodeUserNotFound, "there is no such user") }
