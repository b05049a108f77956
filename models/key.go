package models

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// Key is a virtual API key. The secret itself is not stored, only its hash.
// Times are Unix microseconds.
type Key struct {
	ID         string
	UserID     string // empty for a key that is a team's alone
	TeamID     string // empty for a key without a team
	Name       string
	Hash       string // SHA-256 of the key's random bits, in hex; see LiteLLMHash
	Prefix     string // the first letters of the key, for display
	CreatedAt  int64  `gorm:"autoCreateTime:false"`
	LastUsedAt int64  // 0 = never
	RevokedAt  int64  // 0 = not revoked
	RevokedBy  string // the user who revoked this key alone; empty: it went with its user or team, or by the command line
	LimitedBy  string // LimitedByAdmin, or empty: the owner may change the limits
	Limits     `gorm:"embedded"`

	// PreviousHash is the hash of the secret before the last rotation. It is valid until
	// PreviousExpiresAt. Both are zero without one.
	PreviousHash      string
	PreviousExpiresAt int64
}

// noSecret begins the Hash of a key that has no secret yet. It is no hash of any.
const noSecret = "none:"

// Withhold takes the secret of the key away. Its owner fetches another one.
func (k *Key) Withhold() { k.Hash, k.Prefix = noSecret+k.ID, "" }

// Pending says whether the key has no secret yet.
func (k *Key) Pending() bool { return strings.HasPrefix(k.Hash, noSecret) }

// TableName is the table of keys.
func (Key) TableName() string { return "api_keys" }

// CreateKey is CreateKey of a Transaction of its own.
func (s *Store) CreateKey(ctx context.Context, k *Key, limit int) error {
	return s.Change(ctx, func(tx *Transaction) error { return tx.CreateKey(k, limit) })
}

// RevokeKey revokes a user's key and returns it; ErrNotFound for a key that is
// unknown, revoked already or another user's. The change is committed when it
// returns.
func (s *Store) RevokeKey(ctx context.Context, userID, id string, at int64) (*Key, error) {
	var k Key
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Where("id = ? AND user_id = ? AND revoked_at = 0", id, userID).Take(&k).Error; err != nil {
			return err
		}
		done := tx.Model(&Key{}).Where("id = ? AND revoked_at = 0", id).
			UpdateColumns(map[string]any{"revoked_at": at, "revoked_by": userID})
		if done.Error == nil && done.RowsAffected == 0 {
			return ErrNotFound // another request has revoked it in between
		}
		return done.Error
	})
	return &k, err
}

// KeyWithOwners is a key with its user and its team, as far as it has them, without what
// only lists of keys show: a request may wait for it, and for a slow database each column
// counts.
type KeyWithOwners struct {
	Key
	User KeyOwner `gorm:"embedded;embeddedPrefix:u_"`
	Team KeyOwner `gorm:"embedded;embeddedPrefix:t_"`
}

// KeyOwner is the user or the team of a key.
type KeyOwner struct {
	Exists     bool   // false where the key has none, and after a deletion
	DisabledAt int64  // of a user
	VerifiedAt int64  // of a user
	Name       string // of a team
	Limits     `gorm:"embedded"`
}

// withOwners selects the columns of KeyWithOwners.
func withOwners() string {
	selected := owners()
	own := []string{"id", "user_id", "team_id", "hash", "previous_hash", "previous_expires_at", "revoked_at"}
	for _, column := range append(own, limitColumns()...) {
		selected += ", api_keys." + column
	}
	return selected
}

// owners selects the columns of a user and a team, as far as they are joined.
func owners() string {
	selected := "users.id IS NOT NULL AS u_exists, users.disabled_at AS u_disabled_at, users.verified_at AS u_verified_at, " +
		"teams.id IS NOT NULL AS t_exists, teams.name AS t_name"
	for _, column := range limitColumns() {
		selected += fmt.Sprintf(", users.%s AS u_%[1]s, teams.%[1]s AS t_%[1]s", column)
	}
	return selected
}

// limitColumns are those of Limits.
func limitColumns() []string {
	columns := []string{
		"expires_at", "models", "budget", "budget_window", "budget_extra", "budget_extra_until", "session_budget", "budget_reserve",
	}
	for _, n := range (&Numbers{}).All() {
		columns = append(columns, n.Column)
	}
	return columns
}

// KeyByHash is the key with this hash, or with this previous hash, over or not; and
// revoked or not. ErrNotFound when there is none.
func (s *Store) KeyByHash(ctx context.Context, hash string) (*KeyWithOwners, error) {
	var h KeyWithOwners
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("api_keys").Select(withOwners()).
			Joins("LEFT JOIN users ON users.id = api_keys.user_id").Joins("LEFT JOIN teams ON teams.id = api_keys.team_id").
			Where("api_keys.hash = ? OR api_keys.previous_hash = ? AND api_keys.previous_hash <> ''", hash, hash).Take(&h).Error
	})
	return &h, err
}

// TouchKeys records when keys were last used, by id. Replicas may do it at the
// same time: all of them lock the rows in the same order, and only a few in one
// transaction.
func (s *Store) TouchKeys(ctx context.Context, used map[string]int64) error {
	return s.touch(ctx, &Key{}, used)
}

// TouchUsers is TouchKeys for users, whose tokens were used.
func (s *Store) TouchUsers(ctx context.Context, used map[string]int64) error {
	return s.touch(ctx, &User{}, used)
}

// touch takes a value of the table's type.
func (s *Store) touch(ctx context.Context, row any, used map[string]int64) error {
	const perTransaction = 100
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(used)), perTransaction) {
		err := s.inTx(ctx, func(tx *gorm.DB) error {
			for _, id := range ids {
				at := used[id]
				err := tx.Model(row).Where("id = ? AND last_used_at < ?", id, at).UpdateColumn("last_used_at", at).Error
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Revision is a number that grows with every change of a key or a user that can
// make a cached one wrong: a revocation, a changed limit, a disabled or deleted
// user, another password. Triggers increment it in the transaction of the change,
// so that changes by hand and by other releases are counted too. New rows, names
// and times of use are not counted. When the same number is read twice, no such
// change was committed in between.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	var row struct{ N int64 }
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("revisions").Select("n").Where("id = 1").Take(&row).Error
	})
	return row.N, err
}
