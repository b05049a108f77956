package admin

import (
	"context"
	"errors"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// CreatedUser is a new user.
type CreatedUser struct {
	UserState
	Key     *models.Key // the first key; nil: none
	KeyText string
	Link    *account.Link // with which the user sets a password; nil: the user has one
}

// CreateUser adds a user with limits, in a team and with a first key if in names them.
// All of it is one transaction. Without a password there is a link with which the user
// sets one.
func (a *Service) CreateUser(ctx context.Context, by Actor, in api.NewUser) (*CreatedUser, error) {
	role, err := checkRole(in.Role)
	if err != nil {
		return nil, err
	}
	limit, err := a.keys.ValidateUserLimits(&in.KeyLimits)
	if err != nil {
		return nil, err
	}
	created := &CreatedUser{}
	if in.Key != nil {
		if created.Key, created.KeyText, err = a.keys.New(*in.Key); err != nil {
			return nil, err
		}
	}
	if in.TeamID != "" && !auth.LooksLikeID(in.TeamID) {
		return nil, auth.TeamNotFound()
	}
	u, err := a.accounts.NewUser(ctx, account.Registration{Email: in.Email, Name: in.Name, Password: in.Password, Address: by.Address})
	if err != nil {
		return nil, err
	}
	if err := limit(&u.Limits); err != nil {
		return nil, err
	}
	if in.Admin {
		u.AdminAt = u.CreatedAt
	}
	tell := func() {}
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		if err := a.addUser(tx, act, u); err != nil {
			return nil, err
		}
		if in.TeamID != "" {
			if err := a.addMember(tx, act, &models.TeamMember{TeamID: in.TeamID, UserID: u.ID, Role: role}, u.Email); err != nil {
				return nil, err
			}
		}
		if created.Key == nil {
			return nil, nil
		}
		created.Key.UserID = u.ID
		created.KeyText = withhold(created.Key, created.KeyText, by, in.Reveal)
		tell, err = a.addKey(tx, act, created.Key)
		return nil, err
	})
	if err != nil {
		return nil, api.OrUnavailable("create user", err)
	}
	tell()
	if u.PasswordHash == "" {
		if created.Link, err = a.ResetLink(ctx, by, u.ID); err != nil {
			return nil, err
		}
	}
	state, err := a.userState(ctx, u)
	if err != nil {
		return nil, err
	}
	created.UserState = *state
	return created, nil
}

func (a *Service) addUser(tx *models.Transaction, act action, u *models.User) error {
	err := tx.CreateUser(u)
	if errors.Is(err, models.ErrTaken) {
		return account.EmailTaken()
	}
	if err != nil {
		return err
	}
	act.name, act.target = "user.create", u.ID
	return a.record(tx, act, userDetail{Email: u.Email, After: a.userDetails(u)})
}

// ResetLink returns a link with which a user sets a password. It is mailed if the
// gateway sends mail.
func (a *Service) ResetLink(ctx context.Context, by Actor, userID string) (*account.Link, error) {
	if !auth.LooksLikeID(userID) {
		return nil, userNotFound()
	}
	var link *account.Link
	err := a.act(ctx, by, func(tx *models.Transaction, act action) (*models.Audit, error) {
		u, err := tx.User(userID)
		if err != nil {
			return nil, err
		}
		if link, err = a.accounts.ResetLink(tx, u, act.actor.ID); err != nil {
			return nil, err
		}
		act.name, act.target = "user.reset", userID
		return a.auditRow(act, linkDetail{Email: u.Email, After: stateOf(&link.OneTimeToken)})
	})
	if err != nil {
		return nil, orNotFound("make a link", err, userNotFound)
	}
	return link, a.accounts.Deliver(link)
}
