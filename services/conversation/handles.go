// Package conversation keeps what later requests of the same caller, the owner, refer to:
// handles, which name responses that a provider stores, and conversations that the gateway
// stores. A handle is the provider's id with a tag.
package conversation

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"modelgateway/llm"
	"modelgateway/models"
)

// A tag is the end of a handle: a mark, and in base64 the first bytes of a MAC over the
// owner, the provider, the key and the id, a few bytes that find the key, and the first bytes
// of a MAC over the team. Handles of before there were teams lack the last.
const (
	tagMark   = "_mgw"
	macBytes  = 16
	keyBytes  = 4
	teamBytes = 8
)

// encoding has one text for each tag.
var encoding = base64.RawURLEncoding.Strict() //nolint:gochecknoglobals // a table

// secretName is the name of the secret in the database.
const secretName = "response_ids"

// Handles make and read handles. All clients of a provider's key share its account: the tag
// keeps a client from using the handle of another client's response.
type Handles struct {
	store  *models.Store
	now    func() time.Time
	secret atomic.Pointer[[sha256.Size]byte] // nil: not loaded
}

// NewHandles returns handles without their secret: until Load has read it none is made, and
// none is accepted.
func NewHandles(store *models.Store, now func() time.Time) *Handles {
	return &Handles{store: store, now: now}
}

// Load reads the secret, which the first replica makes.
func (h *Handles) Load(ctx context.Context) error {
	var fresh [sha256.Size]byte
	_, _ = rand.Read(fresh[:]) // never returns an error
	value, err := h.store.Secret(ctx, secretName, fresh[:], h.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("secret of the ids of responses: %w", err)
	}
	h.secret.Store((*[sha256.Size]byte)(value))
	return nil
}

// Ready says whether the secret is there.
func (h *Handles) Ready() bool { return h != nil && h.secret.Load() != nil }

// Make returns the handle of a response that a provider keeps for an owner. key is the
// fingerprint of the key that the response was made with. Handles must be Ready.
func (h *Handles) Make(by models.KeptFor, provider string, key []byte, id string) string {
	return id + tagMark + encoding.EncodeToString(append(h.tag(by.Owner, provider, key, id), h.team(&by, id)...))
}

// team authenticates the team of the key that a response was made with.
func (h *Handles) team(by *models.KeptFor, id string) []byte {
	return h.mac("team", by.Owner, by.TeamID, id)[:teamBytes]
}

// opens says whether the caller may use a handle of its owner with this rest of a tag: one of
// before there were teams only logged in, or with a key of none.
func (h *Handles) opens(by *models.KeptFor, id string, team []byte) bool {
	if by.All || len(team) == 0 && by.TeamID == "" {
		return true
	}
	return len(team) > 0 && hmac.Equal(h.team(by, id), team)
}

// Read finds the response of a handle. places are the providers and the fingerprints of
// their keys. ok is false for a handle that was made for another owner, for a key of another
// team, or with a provider's key that is no longer there, that was changed, or that is none.
func (h *Handles) Read(by models.KeptFor, handle string, places iter.Seq2[string, []byte]) (kept llm.Kept, ok bool) {
	if !h.Ready() {
		return kept, false
	}
	id, tag, ok := split(handle)
	if !ok {
		return kept, false
	}
	tag, team := tag[:macBytes+keyBytes], tag[macBytes+keyBytes:]
	if !h.opens(&by, id, team) {
		return kept, false
	}
	for provider, key := range places {
		if hmac.Equal(h.hint(provider, key), tag[macBytes:]) && hmac.Equal(h.tag(by.Owner, provider, key, id), tag) {
			return llm.Kept{Provider: provider, Key: key, ID: id}, true
		}
	}
	return kept, false
}

// split takes a handle apart.
func split(handle string) (id string, tag []byte, ok bool) {
	for _, size := range [...]int{macBytes + keyBytes + teamBytes, macBytes + keyBytes} {
		end := len(handle) - encoding.EncodedLen(size)
		begin := end - len(tagMark)
		if begin <= 0 || handle[begin:end] != tagMark {
			continue
		}
		tag, err := encoding.DecodeString(handle[end:])
		return handle[:begin], tag, err == nil && len(tag) == size
	}
	return "", nil, false
}

func (h *Handles) tag(owner, provider string, key []byte, id string) []byte {
	return append(h.mac("id", owner, provider, string(key), id)[:macBytes:macBytes], h.hint(provider, key)...)
}

// hint finds a key among others. It says nothing of the key to those who do not know the
// secret.
func (h *Handles) hint(provider string, key []byte) []byte {
	return h.mac("key", provider, string(key))[:keyBytes]
}

// mac authenticates texts, each with its length before it.
func (h *Handles) mac(texts ...string) []byte {
	m := hmac.New(sha256.New, h.secret.Load()[:])
	var length [binary.MaxVarintLen64]byte
	for _, text := range texts {
		m.Write(length[:binary.PutUvarint(length[:], uint64(len(text)))])
		m.Write([]byte(text))
	}
	return m.Sum(nil)
}
