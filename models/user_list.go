package models

import (
	"context"

	"gorm.io/gorm"
)

// UsersIn are the states by which users are selected.
type UsersIn string

// The states of users. A user can be in several.
const (
	UsersActive     UsersIn = "active"     // not disabled
	UsersDisabled   UsersIn = "disabled"   // may not log in
	UsersAdmin      UsersIn = "admin"      // administrators
	UsersUnverified UsersIn = "unverified" // the address was not proven to be the user's
)

// LoginWay is a way in which a user can log in.
type LoginWay string

// The ways. LoginByNone selects the users who have none yet, as those have whom an
// administrator created and who have not used their link.
const (
	LoginByPassword         LoginWay = "password"
	LoginByIdentityProvider LoginWay = "identity_provider"
	LoginByNone             LoginWay = "none"
)

// UserFilter selects users; an empty field selects all.
type UserFilter struct {
	Email      string // normalised, in full
	Containing string // a part of the name or the address; upper and lower case are the same
	TeamID     string
	State      UsersIn
	SignIn     LoginWay

	AdminEmails []string // the verified addresses that make an administrator, for UsersAdmin
}

// Users lists users, the newest first. ErrNotFound when p.After is not the id of a user.
func (s *Store) Users(ctx context.Context, f UserFilter, p Page) ([]User, error) {
	var users []User
	err := s.run(ctx, func(db *gorm.DB) error {
		q := f.on(db)
		if p.After != "" {
			var last User
			if err := db.Where("id = ?", p.After).Take(&last).Error; err != nil {
				return err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&users).Error
	})
	return users, err
}

func (f *UserFilter) on(db *gorm.DB) *gorm.DB {
	q := f.inState(db)
	if f.Email != "" {
		q = q.Where("email = ?", f.Email)
	}
	if f.Containing != "" {
		like := "%" + likeText(f.Containing) + "%"
		q = q.Where(`(LOWER(name) LIKE LOWER(?) ESCAPE '\' OR LOWER(email) LIKE LOWER(?) ESCAPE '\')`, like, like)
	}
	if f.TeamID != "" {
		q = q.Where("id IN (SELECT user_id FROM team_members WHERE team_id = ?)", f.TeamID)
	}
	const linked = "(SELECT user_id FROM identities)"
	switch f.SignIn {
	case LoginByPassword:
		q = q.Where("password_hash <> ''")
	case LoginByIdentityProvider:
		q = q.Where("id IN " + linked)
	case LoginByNone:
		q = q.Where("password_hash = '' AND id NOT IN " + linked)
	}
	return q
}

func (f *UserFilter) inState(db *gorm.DB) *gorm.DB {
	switch f.State {
	case UsersActive:
		return db.Where("disabled_at = 0")
	case UsersDisabled:
		return db.Where("disabled_at <> 0")
	case UsersUnverified:
		return db.Where("verified_at = 0")
	case UsersAdmin:
		return administrators(db, f.AdminEmails)
	}
	return db
}

// administrators selects the enabled users who were made administrators, or whose
// verified address is one of these normalised ones.
func administrators(db *gorm.DB, emails []string) *gorm.DB {
	return db.Where("disabled_at = 0 AND (admin_at <> 0 OR verified_at <> 0 AND email IN ?)", append([]string{""}, emails...))
}

// Linked says which of the users have logged in through an identity provider.
func (s *Store) Linked(ctx context.Context, userIDs ...string) (map[string]bool, error) {
	var ids []string
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Model(&Identity{}).Where("user_id IN ?", userIDs).Pluck("user_id", &ids).Error
	})
	linked := make(map[string]bool, len(ids))
	for _, id := range ids {
		linked[id] = true
	}
	return linked, err
}
