// Package auth knows who calls: the holder of an API key, or the user of a
// login's token. It makes both, checks both, and ends them.
package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/models/api"
)

const (
	keysPerUser    = 100
	longestKeyName = 200 // characters
	keyIDMark      = "key_"
	longestID      = 64
)

// KeyOptions are what Keys needs.
type KeyOptions struct {
	Store *models.Store
	Redis *redis.Client // tells replicas of each other's revocations; nil = there are none, or they find out by themselves within a second
	Log   *slog.Logger
	Now   func() time.Time

	Revisions *Revisions // nil: a key in use is asked for every second

	Known    func(model string) bool // whether there is such a model; nil: every name is one
	Defaults KeyDefaults             // of new keys
}

// Keys are the virtual API keys: who makes them, who holds them, and whether
// the one in a request is good.
type Keys struct {
	store *models.Store
	redis *redis.Client
	log   *slog.Logger
	now   func() time.Time

	knows    func(model string) bool
	defaults KeyDefaults

	cache          *keyCache
	uses           keyUses
	known, unknown chan struct{} // lanes to the database
	ageing         chan digest   // keys in use that should be asked for again

	// Both are the store's and the constant, but in tests.
	keyByHash  func(ctx context.Context, hash string) (*models.KeyWithUser, error)
	flushEvery time.Duration
}

// NewKeys returns Keys that work; Run makes them fast and tells them news.
func NewKeys(o KeyOptions) *Keys {
	if o.Known == nil {
		o.Known = func(string) bool { return true }
	}
	return &Keys{
		store: o.Store, redis: o.Redis, log: o.Log, now: o.Now, knows: o.Known, defaults: o.Defaults,
		cache: newKeyCache(o.Revisions), uses: keyUses{byID: map[string]*keyUse{}},
		known: make(chan struct{}, lanesKnown), unknown: make(chan struct{}, lanesUnknown),
		ageing:    make(chan digest, keysToRefresh),
		keyByHash: o.Store.KeyByHash, flushEvery: keyFlushEvery,
	}
}

// Run does what Keys do beside the requests until ctx ends: it listens to
// other replicas, refreshes keys in use, and writes when they were last used.
// When it returns, that is written.
func (k *Keys) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { k.keepUses(ctx) })
	for range keyRefreshers {
		parts.Go(func() { k.refresh(ctx) })
	}
	if k.redis != nil {
		parts.Go(func() { k.listen(ctx) })
	}
	parts.Wait()
}

// Create makes a key for a user and returns it with its text, which is not
// kept and cannot be had again. Limits that are not named are the defaults.
func (k *Keys) Create(ctx context.Context, userID string, in api.NewKey) (*models.Key, string, error) {
	name, err := keyName(in.Name)
	if err != nil {
		return nil, "", err
	}
	limits, err := k.firstLimits(&in.KeyLimits)
	if err != nil {
		return nil, "", err
	}
	text := newKey()
	d := keyDigest(text)
	key := &models.Key{
		ID: keyIDMark + rand.Text(), UserID: userID, Name: name,
		Hash: hex.EncodeToString(d[:]), Prefix: text[:keyShown], CreatedAt: k.now().UnixMicro(), Limits: limits,
	}
	err = k.store.CreateKey(ctx, key, keysPerUser)
	switch {
	case errors.Is(err, models.ErrTooMany):
		return nil, "", &api.Error{
			Status: http.StatusConflict, Type: api.TypeInvalidRequest, Code: api.CodeTooManyKeys,
			Message: fmt.Sprintf("there are %d keys already, and no more are allowed: revoke one first", keysPerUser),
		}
	case errors.Is(err, models.ErrNotFound):
		return nil, "", api.Unauthorized(api.CodeInvalidToken, "the user of this token is no more")
	case err != nil:
		return nil, "", api.Unavailable(fmt.Errorf("create key: %w", err))
	}
	k.cache.drop(d)
	return key, text, nil
}

// List is a user's live keys, the newest first. Expired ones are among them.
func (k *Keys) List(ctx context.Context, userID string) ([]KeyState, error) {
	keys, err := k.store.Keys(ctx, userID)
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("list keys: %w", err))
	}
	return k.States(ctx, keys)
}

// Change alters a user's key: its name, and its limits unless an administrator
// has set them. They are what counts here when it returns, and within a second
// on every other replica; requests that were let in before go on to their end.
func (k *Keys) Change(ctx context.Context, userID, keyID string, in api.KeyChange) (*KeyState, error) {
	apply, err := k.Checked(&in)
	if err != nil {
		return nil, err
	}
	if !LooksLikeKeyID(keyID) {
		return nil, NoKey()
	}
	key, err := k.store.ChangeKey(ctx, userID, keyID, func(key *models.Key) error {
		if key.LimitedBy == models.LimitedByAdmin && in.Any() {
			return errLimitsFixed
		}
		return apply(key)
	})
	if err != nil {
		return nil, KeyFault("change key", err)
	}
	return k.Changed(ctx, key)
}

// Revoke ends a user's key, for good when it returns: it is refused here from
// now on, and within a second on every other replica. Requests that were let
// in before, streams among them, go on to their end.
func (k *Keys) Revoke(ctx context.Context, userID, keyID string) error {
	if !LooksLikeKeyID(keyID) {
		return NoKey()
	}
	key, err := k.store.RevokeKey(ctx, userID, keyID, k.now().UnixMicro())
	if err != nil {
		return KeyFault("revoke key", err)
	}
	k.Forget(ctx, key)
	return nil
}

// Forget ends what is believed of a key, here and on other replicas.
func (k *Keys) Forget(ctx context.Context, key *models.Key) {
	k.heard(key.Hash)
	k.announce(context.WithoutCancel(ctx), key.ID, key.Hash)
}

// KeyFault is what a caller is told when the store did not do what it should.
func KeyFault(what string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return NoKey()
	}
	return api.OrUnavailable(what, err)
}

// NoKey answers for a key that is unknown, revoked or somebody else's.
func NoKey() error {
	return &api.Error{
		Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeKeyNotFound,
		Message: "there is no such key",
	}
}

// LooksLikeKeyID keeps from the database what it would stumble over, such as
// NUL in PostgreSQL.
func LooksLikeKeyID(id string) bool {
	return strings.HasPrefix(id, keyIDMark) && LooksLikeID(id)
}

// LooksLikeID does the same for ids of every kind.
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

// keyName is the name as it is kept, without spaces around it.
func keyName(name string) (string, error) {
	const param = "name"
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", api.Invalid(api.CodeMissingField, param, "name is missing: it tells your keys apart")
	case !utf8.ValidString(name):
		return "", api.Invalid(api.CodeInvalidValue, param, "name is not valid UTF-8")
	case utf8.RuneCountInString(name) > longestKeyName:
		return "", api.Invalid(api.CodeInvalidValue, param, "name is longer than %d characters", longestKeyName)
	case strings.ContainsFunc(name, api.Invisible):
		return "", api.Invalid(api.CodeInvalidValue, param, "name holds a character that cannot be seen, such as a control or a change of direction")
	}
	return name, nil
}
