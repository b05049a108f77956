// Package prompts keeps the requests and the answers of calls, encrypted, where the operator
// asks for it.
package prompts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/encryption"
)

// What is held in memory and kept at most.
const (
	MaxText = 256 << 10 // bytes of one request, and of one answer; more is cut off

	maxHeld   = 64 << 20 // bytes of all that are being recorded or wait to be written
	maxQueued = 2000     // contents that wait to be written
	batch     = 50       // contents of one transaction
)

// ErrNone says that nothing is kept of a call.
var ErrNone = errors.New("nothing is kept of this call")

// Options configure a Log.
type Options struct {
	Store      *models.Store
	Keep       bool          // requests and answers are recorded
	FailedOnly bool          // only of calls that were neither answered nor ended by their client
	For        time.Duration // how long they are kept
	Key        []byte        // of AES-256; nil: nothing can be read
	Previous   []byte        // the key before; nil = none
	Log        *slog.Logger
	Now        func() time.Time
}

// Log keeps requests and answers. Run writes and erases them.
type Log struct {
	opts  Options
	keys  encryption.Keys
	queue chan entry
	held  atomic.Int64 // bytes
	lost  atomic.Int64
	told  int64 // of the lost ones, how many are logged
	cause error // of those since then; nil where the queue or the memory was full
}

// entry is the content of one call.
type entry struct {
	id    string
	bytes int64 // that are held
	plain Content
}

// Content is the request of a call as the client sent it, and the answer that it was sent.
type Content struct {
	Request          []byte    `json:"request"`
	RequestTruncated bool      `json:"request_truncated,omitzero"`
	Answer           []byte    `json:"answer"`
	AnswerTruncated  bool      `json:"answer_truncated,omitzero"`
	ExpiresAt        time.Time `json:"-"`
}

// New makes a Log. A key is of 32 bytes.
func New(o Options) (*Log, error) {
	keys, err := encryption.NewKeys(o.Key, o.Previous)
	if err != nil {
		return nil, fmt.Errorf("key of prompts: %w", err)
	}
	if o.Keep && len(keys) == 0 {
		return nil, errors.New("prompts cannot be kept without a key")
	}
	return &Log{opts: o, keys: keys, queue: make(chan entry, maxQueued)}, nil
}

// On says whether requests and answers are recorded.
func (l *Log) On() bool { return l.opts.Keep }

// Lost is the number of calls whose content should have been kept and was not.
func (l *Log) Lost() int64 { return l.lost.Load() }

// Reader is who reads the content of a call, and the request that asks for it.
type Reader struct {
	UserID, KeyID      string // of the caller; a key of a team alone has no user
	RequestID, Address string
}

// Read is the content of a call, or ErrNone. The look is recorded in the audit before.
func (l *Log) Read(ctx context.Context, id string, by Reader) (*Content, error) {
	row, err := l.opts.Store.CallContent(ctx, id)
	if errors.Is(err, models.ErrNotFound) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("read the content of a call: %w", err))
	}
	ends := models.CallBegan(id).Add(l.opts.For)
	plain, ok := l.open(row)
	if !ok || !l.opts.Now().Before(ends) {
		return nil, ErrNone
	}
	plain.ExpiresAt = ends
	return plain, l.record(ctx, id, by)
}

// record records a look in the audit.
func (l *Log) record(ctx context.Context, id string, by Reader) error {
	look := audit.Entry{ActorID: by.KeyID, Action: "call.read", Target: id, RequestID: by.RequestID, Address: by.Address}
	if by.UserID != "" {
		user, err := l.opts.Store.User(ctx, by.UserID)
		if err != nil {
			return api.Unavailable(fmt.Errorf("look up the reader of a call: %w", err))
		}
		look.ActorID, look.ActorEmail = user.ID, user.Email
	}
	row, err := audit.Row(l.opts.Now(), look, struct{}{})
	if err != nil {
		return err
	}
	if err := l.opts.Store.RecordAudit(ctx, row); err != nil {
		return api.Unavailable(fmt.Errorf("record the look at a call: %w", err))
	}
	return nil
}

// State is what a call's details say of its content.
func (l *Log) State(ctx context.Context, id string) (string, error) {
	has, err := l.opts.Store.HasContent(ctx, id)
	switch {
	case err != nil:
		return "", api.Unavailable(fmt.Errorf("look for the content of a call: %w", err))
	case has && len(l.keys) > 0 && l.opts.Now().Before(models.CallBegan(id).Add(l.opts.For)):
		return api.ContentStored, nil
	case l.opts.Keep:
		return api.ContentNone, nil
	}
	return api.ContentOff, nil
}

// open decrypts a content.
func (l *Log) open(row *models.CallContent) (*Content, bool) {
	var plain Content
	text, ok := l.keys.Open(row.Sealed, bound(row.ID))
	if ok && json.Unmarshal(text, &plain) == nil {
		return &plain, true
	}
	l.opts.Log.Warn(
		"the content of a call cannot be decrypted: it was encrypted with another key than ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS",
		"call", row.ID)
	return nil, false
}

// seal encrypts a content.
func (l *Log) seal(e *entry) (models.CallContent, error) {
	text, err := json.Marshal(&e.plain)
	if err != nil {
		return models.CallContent{}, fmt.Errorf("encode the content of a call: %w", err)
	}
	return models.CallContent{ID: e.id, Sealed: l.keys.Seal(text, bound(e.id))}, nil
}

// bound is what a sealed content is bound to: moved to another call it does not open.
func bound(id string) []byte { return []byte("modelgateway call content v1\n" + id) }
