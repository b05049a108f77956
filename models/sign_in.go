package models

import (
	"context"

	"gorm.io/gorm"
)

// DeviceCode is a program's wish to be signed in (RFC 8628). Times are Unix microseconds.
type DeviceCode struct {
	Hash      string // SHA-256 of the device code, in hex
	UserCode  string // SHA-256 of the code that the user confirms, in hex
	Client    string // what the program says that it is
	Address   string // of the program
	CreatedAt int64  `gorm:"autoCreateTime:false"`
	ExpiresAt int64
	AsksAt    int64 // when the program may ask for its tokens again
	WaitsUS   int64 // how long it has to wait after each time, in microseconds
	State     DeviceState
	UserID    string // who confirmed the code

	TeamID     string // for which team; empty for none
	Generation int64  // of the user who confirmed the code
}

// DeviceState is what a user has said to a device code.
type DeviceState string

// The states of a device code.
const (
	DeviceWaits    DeviceState = ""
	DeviceApproved DeviceState = "approved"
	DeviceDenied   DeviceState = "denied"
)

// SignIn is a program that is signed in as a user. Times are Unix microseconds.
type SignIn struct {
	ID          string
	UserID      string
	TeamID      string // empty for none
	Generation  int64  // of the user, who has ended the sign-in by a higher one
	Client      string
	Address     string // from where the program asked
	CreatedAt   int64  `gorm:"autoCreateTime:false"`
	RefreshedAt int64
	EndsAt      int64 // unless it is refreshed
	Turn        int64 // the number of the refresh token, from 1

	Hash      string // of the access token, in hex
	ExpiresAt int64  // of the access token

	PreviousHash      string // of the access token before; empty without one
	PreviousExpiresAt int64
}

// SignInWithOwners is a sign-in with its user and its team.
type SignInWithOwners struct {
	SignIn
	User  KeyOwner `gorm:"embedded;embeddedPrefix:u_"`
	Team  KeyOwner `gorm:"embedded;embeddedPrefix:t_"`
	Email string   // of the user

	UserGeneration int64
	Member         bool // of the team
}

// Valid says whether neither the user, nor their membership, nor what they were when they signed in has ended.
func (s *SignInWithOwners) Valid() bool {
	return s.User.Exists && s.User.DisabledAt == 0 && s.Generation >= s.UserGeneration && (s.TeamID == "" || s.Team.Exists && s.Member)
}

func signInsWithOwners(db *gorm.DB) *gorm.DB {
	return db.Table("sign_ins").Select("sign_ins.*, users.email, users.generation AS user_generation, " +
		"team_members.user_id IS NOT NULL AS member, " + owners()).
		Joins("JOIN users ON users.id = sign_ins.user_id").Joins("LEFT JOIN teams ON teams.id = sign_ins.team_id").
		Joins("LEFT JOIN team_members ON team_members.team_id = sign_ins.team_id AND team_members.user_id = sign_ins.user_id")
}

// SignInByHash is the sign-in with an access token of this hash, over or not, or ErrNotFound.
func (s *Store) SignInByHash(ctx context.Context, hash string) (found *SignInWithOwners, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		found, err = take[SignInWithOwners](signInsWithOwners(db).
			Where("sign_ins.hash = ? OR sign_ins.previous_hash = ? AND sign_ins.previous_hash <> ''", hash, hash))
		return err
	})
	return found, err
}

// SignIns lists the sign-ins that last beyond a time, the newest first: those of a user, or of all with an empty id.
func (s *Store) SignIns(ctx context.Context, userID string, after int64) (all []SignInWithOwners, err error) {
	const most = 1000
	err = s.run(ctx, func(db *gorm.DB) error {
		query := signInsWithOwners(db).Where("sign_ins.ends_at > ?", after)
		if userID != "" {
			query = query.Where("sign_ins.user_id = ?", userID)
		}
		return query.Order("sign_ins.created_at DESC, sign_ins.id").Limit(most).Find(&all).Error
	})
	return all, err
}

// CreateDeviceCode adds a code, and removes those that are over. ErrTaken when another one has the user code.
func (t *Transaction) CreateDeviceCode(c *DeviceCode) error {
	if err := t.db.Where("expires_at < ?", c.CreatedAt).Delete(&DeviceCode{}).Error; err != nil {
		return err
	}
	return mapError(t.db.Create(c).Error)
}

// DeviceCode is the one with this hash of its device code or of its user code, or ErrNotFound.
func (t *Transaction) DeviceCode(hash string) (*DeviceCode, error) {
	return take[DeviceCode](t.db.Where("hash = ? OR user_code = ?", hash, hash))
}

// UpdateDeviceCode stores what was said to a code, and when its program may ask again.
func (t *Transaction) UpdateDeviceCode(c *DeviceCode) error {
	return t.db.Model(&DeviceCode{}).Where("hash = ?", c.Hash).
		Select("asks_at", "waits_us", "state", "user_id", "team_id", "generation").UpdateColumns(c).Error
}

// DeleteDeviceCode removes a code.
func (t *Transaction) DeleteDeviceCode(hash string) error {
	return t.db.Where("hash = ?", hash).Delete(&DeviceCode{}).Error
}

// SignIn is the one with this id, or ErrNotFound.
func (t *Transaction) SignIn(id string) (*SignInWithOwners, error) {
	return take[SignInWithOwners](signInsWithOwners(t.db).Where("sign_ins.id = ?", id))
}

// CreateSignIn adds a sign-in, and removes those that are over.
func (t *Transaction) CreateSignIn(s *SignIn) error {
	if err := t.db.Where("ends_at < ?", s.CreatedAt).Delete(&SignIn{}).Error; err != nil {
		return err
	}
	return t.db.Create(s).Error
}

// UpdateSignIn stores the tokens of a sign-in that was refreshed.
func (t *Transaction) UpdateSignIn(s *SignIn) error {
	return t.db.Model(&SignIn{}).Where("id = ?", s.ID).
		Select("refreshed_at", "ends_at", "turn", "hash", "expires_at", "previous_hash", "previous_expires_at").UpdateColumns(s).Error
}

// DeleteSignIn ends a sign-in.
func (t *Transaction) DeleteSignIn(id string) error {
	return t.db.Where("id = ?", id).Delete(&SignIn{}).Error
}

// AgentSettings are the settings of agents of a team, or of all teams that have none; JSON.
type AgentSettings struct {
	TeamID    string `gorm:"primaryKey"` // empty: of all that have none of their own
	Settings  string
	ChangedAt int64
}

// TableName is the table of settings.
func (AgentSettings) TableName() string { return "agent_settings" }

// AgentSettings are those that hold for a team, or for users without one; nil where none are set.
func (s *Store) AgentSettings(ctx context.Context, teamID string) (*AgentSettings, error) {
	var found []AgentSettings
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Where("team_id IN ?", []string{"", teamID}).Order("team_id DESC").Limit(1).Find(&found).Error
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// SetAgentSettings stores the settings of a team, or removes them where they are empty.
func (t *Transaction) SetAgentSettings(a *AgentSettings) error {
	if a.Settings == "" {
		return t.db.Where("team_id = ?", a.TeamID).Delete(&AgentSettings{}).Error
	}
	return t.db.Save(a).Error
}
