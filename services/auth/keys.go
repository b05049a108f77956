// Package auth authenticates callers by API key or by the token of a login. It
// creates, verifies and revokes both.
package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"modelgateway/api"
	"modelgateway/models"
)

const (
	keysPerUser    = 100
	keysPerTeam    = 1000 // of the team alone
	longestKeyName = 200  // characters
	keyIDPrefix    = "key_"
	longestID      = 64
	takenOverEvery = time.Second
)

// KeyOptions are what Keys needs.
type KeyOptions struct {
	Store *models.Store
	Redis models.Redis // publishes revocations to other replicas; nil: they notice them within a second
	Log   *slog.Logger
	Now   func() time.Time

	Revisions *Revisions // nil: a key in use is queried every second

	CheckModel func(model string) error // fails for what no list of models may have; nil: every name is a model
	Defaults   KeyDefaults              // of new keys

	UserDefaults models.Limits // of users who have no such limit of their own

	Verified bool // only users whose address is verified make keys: the gateway sends mail
}

// Keys creates, lists, changes, revokes and authenticates the API keys of users.
type Keys struct {
	store *models.Store
	redis models.Redis
	log   *slog.Logger
	now   func() time.Time

	checkModel   func(model string) error
	defaults     KeyDefaults
	userDefaults models.Limits
	verified     bool

	cache   *keyCache
	uses    lastUses
	known   *semaphore.Weighted // limits the look-ups of keys that were valid lately
	unknown *semaphore.Weighted // limits those of other keys

	takenOver atomic.Pointer[bool] // nil until TakenOver has been called

	// Tests replace the store's query and the constant.
	keyByHash  func(ctx context.Context, hash string) (*models.KeyWithOwners, error)
	flushEvery time.Duration
}

// NewKeys returns Keys that work already. Run adds the background work: the invalidations of
// other replicas, the times of last use, and whether keys were taken over.
func NewKeys(o KeyOptions) *Keys {
	if o.CheckModel == nil {
		o.CheckModel = func(string) error { return nil }
	}
	return &Keys{
		store: o.Store, redis: o.Redis, log: o.Log, now: o.Now, checkModel: o.CheckModel, defaults: o.Defaults,
		userDefaults: o.UserDefaults, verified: o.Verified,
		cache: newKeyCache(o.Revisions), uses: lastUses{byID: map[string]*lastUse{}},
		known:     semaphore.NewWeighted(knownLookups),
		unknown:   semaphore.NewWeighted(unknownLookups),
		keyByHash: o.Store.KeyByHash, flushEvery: flushEvery,
	}
}

// Run does the background work until ctx ends: it receives invalidations from other replicas,
// notices takeovers, and writes when keys were last used, for the last time before it returns.
func (k *Keys) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { repeat(ctx, k.flushEvery, k.flushOrLog) })
	parts.Go(func() { repeat(ctx, takenOverEvery, k.refreshTakenOver) })
	if k.redis != nil {
		parts.Go(func() { k.subscribe(ctx) })
	}
	parts.Wait()
}

// Create makes a key for a user, in the team that in names, if any, and returns it
// with its text, which is not stored and cannot be shown again. Limits that are not
// named are the defaults.
func (k *Keys) Create(ctx context.Context, userID string, in api.NewKey) (*models.Key, string, error) {
	key, text, err := k.New(in)
	if err != nil {
		return nil, "", err
	}
	key.UserID = userID
	err = k.store.Change(ctx, func(tx *models.Transaction) error {
		if err := k.checkVerified(tx, userID); err != nil {
			return err
		}
		if key.TeamID != "" {
			if _, err := tx.Member(key.TeamID, userID); err != nil {
				return teamError("look up membership", err)
			}
		}
		return AddKey(tx, key)
	})
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, "", api.Unauthorized(api.CodeInvalidToken, "the user of this token was deleted")
	case err != nil:
		return nil, "", api.OrUnavailable("create key", err)
	}
	k.onInvalidation(key.Hash)
	return key, text, nil
}

// checkVerified refuses keys to users whose address is not verified, where the gateway sends mail: the
// account may be a stranger's, and ends when its owner proves the address.
func (k *Keys) checkVerified(tx *models.Transaction, userID string) error {
	if !k.verified {
		return nil
	}
	u, err := tx.User(userID)
	if err != nil {
		return err
	}
	if u.VerifiedAt == 0 {
		return EmailNotVerified("to make keys")
	}
	return nil
}

// EmailNotVerified answers a user who has to verify their address first.
func EmailNotVerified(what string) error {
	return api.Forbidden(api.CodeEmailNotVerified, "",
		"the e-mail address of this account is not verified: open the link in the mail that was sent to it "+what+
			"; POST /auth/password/forgot sends another one")
}

// New checks a new key and returns it with its text. Its user is not set yet, and it is
// not in the database.
func (k *Keys) New(in api.NewKey) (key *models.Key, text string, err error) {
	name, err := keyName(in.Name)
	if err != nil {
		return nil, "", err
	}
	limits, err := k.firstLimits(&in.KeyLimits)
	if err != nil {
		return nil, "", err
	}
	if in.TeamID != "" && !LooksLikeID(in.TeamID) {
		return nil, "", TeamNotFound()
	}
	key = &models.Key{
		ID: NewKeyID(), TeamID: in.TeamID, Name: name, CreatedAt: k.now().UnixMicro(), Limits: limits,
	}
	return key, newSecret(key), nil
}

// NewKeyID returns the id of a new key.
func NewKeyID() string { return keyIDPrefix + rand.Text() }

// AddKey adds a key that New has made. The error is models.ErrNotFound when its user or
// its team does not exist, and an *api.Error when either has too many keys.
func AddKey(tx *models.Transaction, key *models.Key) error {
	return inRoom(key, func(most int) error { return tx.CreateKey(key, most) })
}

// CheckRoom returns the errors of AddKey for a key that is there and revoked.
func CheckRoom(tx *models.Transaction, key *models.Key) error {
	return inRoom(key, func(most int) error { return tx.CheckRoom(key, most) })
}

func inRoom(key *models.Key, do func(most int) error) error {
	most, message := keysPerUser, "the user has %d keys, and more are not allowed: revoke one first"
	if key.UserID == "" {
		most, message = keysPerTeam, "the team has %d keys of its own, and more are not allowed: revoke one first"
	}
	err := do(most)
	if errors.Is(err, models.ErrTooMany) {
		return api.Conflict(api.CodeTooManyKeys, "", fmt.Sprintf(message, most))
	}
	return err
}

// TeamNotFound answers for a team that is unknown, or that the caller is not in.
func TeamNotFound() error {
	return api.NotFound(api.CodeTeamNotFound, "there is no such team")
}

func teamError(what string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return TeamNotFound()
	}
	return api.OrUnavailable(what, err)
}

// newSecret gives a key a new secret, and returns its text.
func newSecret(key *models.Key) (text string) {
	text = newKey()
	d := keyDigest(text)
	key.Hash, key.Prefix = hex.EncodeToString(d[:]), text[:keyShown]
	return text
}

// Find returns keys, the newest first: the latest thousand, if there are more.
func (k *Keys) Find(ctx context.Context, f models.KeyFilter) ([]KeyState, error) {
	const most = 1000
	owned, err := k.store.AllKeys(ctx, f, models.Page{Limit: most})
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("list keys: %w", err))
	}
	keys := make([]models.Key, len(owned))
	for i := range owned {
		keys[i] = owned[i].Key
	}
	states, err := k.States(ctx, keys)
	for i := range states {
		states[i].TeamName = owned[i].TeamName
	}
	return states, err
}

// Get returns a key of a user, revoked or not.
func (k *Keys) Get(ctx context.Context, userID, keyID string) (*KeyState, error) {
	if !LooksLikeKeyID(keyID) {
		return nil, KeyNotFound()
	}
	return k.one(ctx, models.KeyFilter{ID: keyID, UserID: userID, State: models.KeysAll})
}

func (k *Keys) one(ctx context.Context, f models.KeyFilter) (*KeyState, error) {
	states, err := k.Find(ctx, f)
	if err == nil && len(states) == 0 {
		err = KeyNotFound()
	}
	if err != nil {
		return nil, err
	}
	return &states[0], nil
}

// Change alters a user's key: its name, and its limits unless an administrator
// has set them. The change is effective here when Change returns, and within a
// second on every other replica; requests that run already are not affected.
func (k *Keys) Change(ctx context.Context, userID, keyID string, in api.KeyChange) (*KeyState, error) {
	apply, err := k.ValidateChange(&in)
	if err != nil {
		return nil, err
	}
	if !LooksLikeKeyID(keyID) {
		return nil, KeyNotFound()
	}
	key, err := k.store.ChangeKey(ctx, userID, keyID, func(key *models.Key) error {
		if key.LimitedBy != "" && in.Any() {
			return LimitsFixed()
		}
		return apply(key)
	})
	if err != nil {
		return nil, KeyError("change key", err)
	}
	return k.Updated(ctx, key)
}

// Revoke revokes a user's key for ever. The key is rejected here when Revoke
// returns, and within a second on every other replica. Requests that run
// already, streams included, are not affected.
func (k *Keys) Revoke(ctx context.Context, userID, keyID string) error {
	if !LooksLikeKeyID(keyID) {
		return KeyNotFound()
	}
	key, err := k.store.RevokeKey(ctx, userID, keyID, k.now().UnixMicro())
	if err != nil {
		return KeyError("revoke key", err)
	}
	k.Invalidate(ctx, key)
	return nil
}

// Invalidate removes a key, with both of its secrets, from the cache here and on
// other replicas.
func (k *Keys) Invalidate(ctx context.Context, key *models.Key) {
	k.invalidate(ctx, key.ID, key.Hash, key.PreviousHash)
}

func (k *Keys) invalidate(ctx context.Context, id string, hashes ...string) {
	for _, hash := range hashes {
		if hash == "" {
			continue
		}
		k.onInvalidation(hash)
		k.publishInvalidation(context.WithoutCancel(ctx), id, hash)
	}
}

// KeyError translates an error of the store about a key for the caller.
func KeyError(what string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return KeyNotFound()
	}
	return api.OrUnavailable(what, err)
}

// KeyNotFound answers for a key that is unknown, revoked or another user's.
func KeyNotFound() error {
	return api.NotFound(api.CodeKeyNotFound, "there is no such key")
}

// LooksLikeKeyID reports whether id has the form of a key's id. Other text does
// not get to the database: PostgreSQL fails on NUL, for one.
func LooksLikeKeyID(id string) bool {
	return strings.HasPrefix(id, keyIDPrefix) && LooksLikeID(id)
}

// LooksLikeID is LooksLikeKeyID for ids of every kind.
func LooksLikeID(id string) bool {
	if id == "" || len(id) > longestID {
		return false
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && c != '_' {
			return false
		}
	}
	return true
}

// keyName returns the name as it is stored, without spaces around it.
func keyName(name string) (string, error) {
	const param = "name"
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", api.Invalid(api.CodeMissingField, param, "name is missing: it tells your keys apart")
	case utf8.RuneCountInString(name) > longestKeyName:
		return "", api.Invalid(api.CodeInvalidValue, param, "name must have at most %d characters", longestKeyName)
	}
	return name, api.CheckVisible(param, name)
}
