package models

import (
	"context"

	"gorm.io/gorm"
)

// Team is a group of users with common limits. A call with one of its keys is also
// paid from its budget. Times are Unix microseconds.
type Team struct {
	ID        string
	Name      string // of no other team
	CreatedAt int64  `gorm:"autoCreateTime:false"`
	Limits    `gorm:"embedded"`
}

// TeamMember is a user's membership of a team.
type TeamMember struct {
	TeamID    string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey"`
	Role      Role
	CreatedAt int64 `gorm:"autoCreateTime:false"`
}

// Role is what a member of a team may do.
type Role string

// The roles. Managers invite members, see the team's usage and hold its keys.
const (
	RoleManager Role = "manager"
	RoleMember  Role = "member"
)

// Team is the team with this id, or ErrNotFound.
func (s *Store) Team(ctx context.Context, id string) (team *Team, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		team, err = take[Team](db.Where("id = ?", id))
		return err
	})
	return team, err
}

// Teams lists teams, the newest first. ErrNotFound when p.After is not the id of one.
func (s *Store) Teams(ctx context.Context, p Page) ([]Team, error) {
	var teams []Team
	err := s.run(ctx, func(db *gorm.DB) error {
		q := db
		if p.After != "" {
			last, err := take[Team](db.Where("id = ?", p.After))
			if err != nil {
				return err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&teams).Error
	})
	return teams, err
}

// TeamSums are a team's totals.
type TeamSums struct {
	Members int64
	Keys    int64 // not revoked
}

// TeamSums are the totals of teams, by id.
func (s *Store) TeamSums(ctx context.Context, ids []string) (map[string]TeamSums, error) {
	var rows []struct {
		TeamID  string
		Members int64
		Keys    int64
	}
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("teams").Select(`id AS team_id, (SELECT COUNT(*) FROM team_members WHERE team_id = teams.id) AS members,
			(SELECT COUNT(*) FROM api_keys WHERE team_id = teams.id AND revoked_at = 0) AS keys`).
			Where("id IN ?", ids).Find(&rows).Error
	})
	sums := make(map[string]TeamSums, len(rows))
	for _, row := range rows {
		sums[row.TeamID] = TeamSums{Members: row.Members, Keys: row.Keys}
	}
	return sums, err
}

// Member is a member of a team with the user's address and name.
type Member struct {
	TeamMember
	Email string
	Name  string
}

// Members are the members of a team, the first one first.
func (s *Store) Members(ctx context.Context, teamID string) ([]Member, error) {
	var members []Member
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("team_members").Select("team_members.*, users.email, users.name").
			Joins("JOIN users ON users.id = team_members.user_id").Where("team_members.team_id = ?", teamID).
			Order("team_members.created_at, team_members.user_id").Find(&members).Error
	})
	return members, err
}

// Member is a user's membership of a team, or ErrNotFound.
func (s *Store) Member(ctx context.Context, teamID, userID string) (member *TeamMember, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		member, err = take[TeamMember](db.Where("team_id = ? AND user_id = ?", teamID, userID))
		return err
	})
	return member, err
}

// Membership is a team that a user is a member of, and as what.
type Membership struct {
	Team
	UserID string
	Role   Role
}

// Memberships are the teams of users, by name.
func (s *Store) Memberships(ctx context.Context, userIDs ...string) ([]Membership, error) {
	var memberships []Membership
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("team_members").Select("teams.*, team_members.user_id, team_members.role").
			Joins("JOIN teams ON teams.id = team_members.team_id").Where("team_members.user_id IN ?", userIDs).
			Order("teams.name").Find(&memberships).Error
	})
	return memberships, err
}
