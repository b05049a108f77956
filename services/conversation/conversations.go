package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/encryption"
)

// What is kept at most.
const (
	maxTurn  = 4 << 20  // bytes of one request's own input and its answer
	maxTurns = 2000     // of one owner
	maxBytes = 64 << 20 // of one owner
)

// Options are what Conversations need.
type Options struct {
	Store    *models.Store
	Key      []byte        // of AES-256
	Previous []byte        // the key before; nil = none
	Keep     time.Duration // how long a turn is kept; 0 = nothing is kept
	Log      *slog.Logger
	Now      func() time.Time
}

// Conversations are the turns that the gateway keeps, encrypted in the database.
type Conversations struct {
	opts Options
	keys encryption.Keys
	lost atomic.Int64
}

// ErrUnknown says that an owner has no such turn, or not all of those before it any more.
var ErrUnknown = errors.New("there is no such response")

// NewConversations returns conversations, which Run erases in time. A key is of 32 bytes.
func NewConversations(o Options) (*Conversations, error) {
	keys, err := encryption.NewKeys(o.Key, o.Previous)
	if err != nil {
		return nil, fmt.Errorf("key of conversations: %w", err)
	}
	if o.Keep > 0 && len(keys) == 0 {
		return nil, errors.New("conversations cannot be kept without a key")
	}
	return &Conversations{opts: o, keys: keys}, nil
}

// On says whether turns are kept.
func (c *Conversations) On() bool { return c != nil && c.opts.Keep > 0 }

// Fits says whether a turn may be kept of whose request this is the size in bytes.
func (c *Conversations) Fits(request int) bool { return request < maxTurn }

// Lost is the number of turns that should have been kept and were not.
func (c *Conversations) Lost() int64 { return c.lost.Load() }

// plain is what is sealed of a turn.
type plain struct {
	Input  jsontext.Value `json:"input"`
	Answer jsontext.Value `json:"answer"`
}

// Keep adds a turn. An error is logged and counted: the answer is sent all the same.
func (c *Conversations) Keep(ctx context.Context, owner models.KeptFor, requestID string, t *llm.Turn) {
	if err := c.store(ctx, owner, t); err != nil {
		c.lost.Add(1)
		c.opts.Log.Error("a response was not stored: later requests cannot name it as previous_response_id",
			"request_id", requestID, "error", err)
	}
}

func (c *Conversations) store(ctx context.Context, owner models.KeptFor, t *llm.Turn) error {
	text, err := json.Marshal(plain{t.Input, t.Answer}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if len(text) > maxTurn {
		return fmt.Errorf("the turn is of %d bytes, more than %d", len(text), maxTurn)
	}
	now := c.opts.Now()
	row := &models.KeptResponse{
		ID: t.ID, Owner: owner.Owner, TeamID: owner.TeamID, Previous: t.Previous,
		Sealed:    c.keys.Seal(text, bound(owner.Owner, t.ID, t.Previous)),
		CreatedAt: now.UnixMicro(), ExpiresAt: now.Add(c.opts.Keep).UnixMicro(),
	}
	row.Size = int64(len(row.Sealed))
	return c.opts.Store.KeepResponse(ctx, row, t.Items, bounds())
}

func bounds() models.KeptBounds { return models.KeptBounds{Responses: maxTurns, Bytes: maxBytes} }

// bound is what a sealed turn is bound to: moved to another row it does not open.
func bound(owner, id, previous string) []byte {
	return fmt.Appendf(nil, "modelgateway kept response v1\n%q %q %q", owner, id, previous)
}

// Turn is an owner's turn, or ErrUnknown.
func (c *Conversations) Turn(ctx context.Context, owner models.KeptFor, id string) (*llm.Turn, error) {
	if !c.On() {
		return nil, ErrUnknown
	}
	row, err := c.opts.Store.KeptResponse(ctx, owner, id, c.opts.Now().UnixMicro())
	if err != nil {
		return nil, unknown(err)
	}
	return c.open(row)
}

// Until are the turns of an owner's conversation, the first one first, up to the one with
// this id, or ErrUnknown.
func (c *Conversations) Until(ctx context.Context, owner models.KeptFor, id string) ([]llm.Turn, error) {
	rows, err := c.opts.Store.KeptConversation(ctx, owner, id, c.opts.Now().UnixMicro(), bounds())
	if err != nil {
		return nil, unknown(err)
	}
	return c.openAll(rows)
}

// WithItems are the turns of an owner whose answers have one of these items.
func (c *Conversations) WithItems(ctx context.Context, owner models.KeptFor, items []string) ([]llm.Turn, error) {
	rows, err := c.opts.Store.KeptOfItems(ctx, owner, items, c.opts.Now().UnixMicro(), bounds())
	if err != nil {
		return nil, unknown(err)
	}
	return c.openAll(rows)
}

// Erase erases an owner's turn, or returns ErrUnknown.
func (c *Conversations) Erase(ctx context.Context, owner models.KeptFor, id string) error {
	if !c.On() {
		return ErrUnknown
	}
	return unknown(c.opts.Store.DeleteKeptResponse(ctx, owner, id, c.opts.Now().UnixMicro()))
}

func unknown(err error) error {
	if errors.Is(err, models.ErrNotFound) || errors.Is(err, models.ErrTooMany) {
		return ErrUnknown
	}
	return err
}

func (c *Conversations) openAll(rows []models.KeptResponse) ([]llm.Turn, error) {
	turns := make([]llm.Turn, 0, len(rows))
	for i := range rows {
		t, err := c.open(&rows[i])
		if err != nil {
			return nil, err
		}
		turns = append(turns, *t)
	}
	return turns, nil
}

// open decrypts a turn. One whose key is gone is as good as erased.
func (c *Conversations) open(row *models.KeptResponse) (*llm.Turn, error) {
	text, ok := c.keys.Open(row.Sealed, bound(row.Owner, row.ID, row.Previous))
	if !ok {
		c.opts.Log.Warn(
			"a stored response cannot be decrypted: it was encrypted with another key than ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS",
			"response", row.ID)
		return nil, ErrUnknown
	}
	var p plain
	if err := json.Unmarshal(text, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("decode response %s: %w", row.ID, err)
	}
	return &llm.Turn{ID: row.ID, Previous: row.Previous, Input: p.Input, Answer: p.Answer}, nil
}

// Run erases what has been kept for long enough, until ctx ends. It does so also where
// nothing is kept any more.
func (c *Conversations) Run(ctx context.Context) {
	encryption.EraseInTime(ctx, c.opts.Log, "conversations", func(ctx context.Context, most int) (int64, error) {
		return c.opts.Store.DeleteExpiredResponses(ctx, c.opts.Now().UnixMicro(), most)
	})
}
