package models

import (
	"context"
	"slices"

	"gorm.io/gorm"
)

// invitations selects the invitations that are neither used nor over: all, or those to
// a team.
func invitations(db *gorm.DB, teamID string, at int64) *gorm.DB {
	q := db.Where("purpose = ? AND used_at = 0 AND expires_at > ?", PurposeInvite, at)
	if teamID != "" {
		q = q.Where("team_id = ?", teamID)
	}
	return q
}

// Invitation is a token with the names of what it refers to; empty for what is no more.
type Invitation struct {
	OneTimeToken
	TeamName       string
	CreatedByEmail string
}

// Invitations lists the invitations that are neither used nor over, the newest first:
// all, or those to a team. ErrNotFound when p.After is not the id of a one-time token.
func (s *Store) Invitations(ctx context.Context, teamID string, at int64, p Page) (list []Invitation, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		list, err = readInvitations(db, teamID, at, p)
		return err
	})
	return list, err
}

func readInvitations(db *gorm.DB, teamID string, at int64, p Page) ([]Invitation, error) {
	q := invitations(db, teamID, at)
	if p.After != "" {
		last, err := take[OneTimeToken](db.Where("id = ?", p.After))
		if err != nil {
			return nil, err
		}
		q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
	}
	var tokens []OneTimeToken
	if err := q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&tokens).Error; err != nil {
		return nil, err
	}
	list := make([]Invitation, len(tokens))
	for i := range tokens {
		list[i].OneTimeToken = tokens[i]
	}
	return list, nameInvitations(db, list)
}

func nameInvitations(db *gorm.DB, list []Invitation) error {
	var ids []string
	for i := range list {
		ids = append(ids, list[i].TeamID, list[i].CreatedBy)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return nil
	}
	var named []struct{ ID, Name string }
	err := db.Raw("SELECT id, name FROM teams WHERE id IN ? UNION ALL SELECT id, email FROM users WHERE id IN ?", ids, ids).Scan(&named).Error
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, n := range named {
		names[n.ID] = n.Name
	}
	for i := range list {
		list[i].TeamName, list[i].CreatedByEmail = names[list[i].TeamID], names[list[i].CreatedBy]
	}
	return nil
}

// DeleteInvitation deletes an invitation that is neither used nor over, and returns it:
// any, or one to a team. ErrNotFound when there is none.
func (t *Transaction) DeleteInvitation(id, teamID string, at int64) (*OneTimeToken, error) {
	token, err := take[OneTimeToken](invitations(t.db, teamID, at).Where("id = ?", id))
	if err != nil {
		return nil, err
	}
	return token, t.db.Where("id = ?", id).Delete(&OneTimeToken{}).Error
}
