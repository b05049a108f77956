package admin

import (
	"context"
	"fmt"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// UserState is a user with their teams and the sums of their keys and spend.
type UserState struct {
	models.User
	models.UserSums
	Admin  bool
	Linked bool // the user has an identity at a provider
	Teams  []models.Membership

	payer models.Limits // the user's, with the default budget where there is none of their own
	spent models.Spend
	at    time.Time // the time of spent, which selects its windows
}

// Users lists users, the newest first.
func (a *Service) Users(ctx context.Context, f models.UserFilter, page models.Page) (users []UserState, more bool, err error) {
	if f.Email != "" {
		if f.Email, err = account.NormalEmail(f.Email); err != nil {
			return nil, false, err
		}
	}
	if err := checkUserFilter(&f); err != nil {
		return nil, false, err
	}
	f.AdminEmails = a.emails
	rows, more, err := ReadPage(page, "users", func(page models.Page) ([]models.User, error) { return a.store.Users(ctx, f, page) })
	if err != nil {
		return nil, false, err
	}
	users, err = a.userStates(ctx, rows)
	return users, more, err
}

func checkUserFilter(f *models.UserFilter) error {
	switch f.State {
	case "", models.UsersActive, models.UsersDisabled, models.UsersAdmin, models.UsersUnverified:
	default:
		return api.Invalid(api.CodeInvalidValue, "state", "state must be active, disabled, admin or unverified")
	}
	switch f.SignIn {
	case "", models.LoginByPassword, models.LoginByIdentityProvider, models.LoginByNone:
	default:
		return api.Invalid(api.CodeInvalidValue, "sign_in", "sign_in must be password, identity_provider or none")
	}
	return checkID("team_id", f.TeamID)
}

// User returns the user with this id.
func (a *Service) User(ctx context.Context, id string) (*UserState, error) {
	if !auth.LooksLikeID(id) {
		return nil, userNotFound()
	}
	u, err := a.store.User(ctx, id)
	if err != nil {
		return nil, orNotFound("look up user", err, userNotFound)
	}
	return a.userState(ctx, u)
}

func (a *Service) userState(ctx context.Context, u *models.User) (*UserState, error) {
	states, err := a.userStates(ctx, []models.User{*u})
	if err != nil {
		return nil, err
	}
	return &states[0], nil
}

func (a *Service) userStates(ctx context.Context, users []models.User) ([]UserState, error) {
	if len(users) == 0 {
		return nil, nil
	}
	ids, accounts := make([]string, len(users)), make([]string, len(users))
	for i := range users {
		ids[i], accounts[i] = users[i].ID, models.UserAccount(users[i].ID)
	}
	now := a.now()
	sums, err := a.store.UserSums(ctx, ids)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("sum up users: %w", err))
	}
	spent, err := a.store.AccountSpend(ctx, accounts, now)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up what users have spent: %w", err))
	}
	memberships, err := a.store.Memberships(ctx, ids...)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up the teams of users: %w", err))
	}
	linked, err := a.store.Linked(ctx, ids...)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("look up the identities of users: %w", err))
	}
	teams := map[string][]models.Membership{}
	for _, m := range memberships {
		teams[m.UserID] = append(teams[m.UserID], m)
	}
	states := make([]UserState, len(users))
	for i, u := range users {
		states[i] = UserState{
			User: u, UserSums: sums[u.ID], Admin: a.isAdmin(&u), Linked: linked[u.ID], Teams: teams[u.ID],
			payer: a.keys.OfUser(u.Limits), spent: spent[accounts[i]], at: now,
		}
	}
	return states, nil
}
