package models

import (
	"context"

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

// Invitations lists the invitations that are neither used nor over, the newest first:
// all, or those to a team. ErrNotFound when p.After is not the id of a one-time token.
func (s *Store) Invitations(ctx context.Context, teamID string, at int64, p Page) ([]OneTimeToken, error) {
	var tokens []OneTimeToken
	err := s.run(ctx, func(db *gorm.DB) error {
		q := invitations(db, teamID, at)
		if p.After != "" {
			last, err := take[OneTimeToken](db.Where("id = ?", p.After))
			if err != nil {
				return err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&tokens).Error
	})
	return tokens, err
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
