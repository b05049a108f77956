package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// Failed logins of an account are counted by client address, so that guesses from
// one address lock out that address alone. All addresses together are counted as
// well, against guesses from many; an address that has logged in to the account
// passes that lock.
const (
	mostFailures        = 10  // in the window, of an account from one address
	mostAccountFailures = 100 // in the window, of an account from all addresses
	failureWindow       = time.Minute
	knownFor            = 30 * 24 * time.Hour // an address that has logged in
	mostCounted         = 16384               // entries of each cache
)

// attempt is a login from an address. The account need not exist, so that a lock
// does not reveal which accounts do.
type attempt struct{ email, address string }

// pair is the key of the account and the address, account that of the account.
func (a attempt) pair() string    { return hashed(a.email + "\n" + a.address) }
func (a attempt) account() string { return hashed(a.email) }

// hashed keeps e-mail addresses out of Redis.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// failures counts failed logins: in this process, and with Redis for all replicas.
// A window begins with its first failure.
type failures struct {
	counts *counters
	known  *counters       // of logins, by pair
	shared *sharedFailures // nil without Redis
}

// newFailures takes nil for no Redis.
func newFailures(client models.Redis, now func() time.Time) *failures {
	f := &failures{counts: newCounters(failureWindow, now), known: newCounters(knownFor, now)}
	if client != nil {
		f.shared = &sharedFailures{redis: client, now: now}
	}
	return f
}

// check refuses an attempt after too many failures, also with the right password.
func (f *failures) check(ctx context.Context, a attempt) error {
	pair, account := f.counts.get(a.pair()), f.counts.get(a.account())
	known := f.known.get(a.pair()).count > 0
	if f.shared != nil {
		if s, ok := f.shared.get(ctx, a); ok {
			pair, account, known = pair.more(s.pair), account.more(s.account), known || s.known
		}
	}
	switch {
	case pair.count >= mostFailures:
		return tooMany("too many failed logins for this account from this address", pair.left)
	case account.count >= mostAccountFailures && !known:
		return tooMany("too many failed logins for this account", account.left)
	}
	return nil
}

func (f *failures) add(ctx context.Context, a attempt) {
	f.counts.add(a.pair())
	f.counts.add(a.account())
	if f.shared != nil {
		f.shared.add(ctx, a)
	}
}

// succeeded ends the lock of the address, and keeps it in mind.
func (f *failures) succeeded(ctx context.Context, a attempt) {
	f.counts.remove(a.pair())
	f.known.add(a.pair())
	if f.shared != nil {
		f.shared.succeeded(ctx, a)
	}
}

func tooMany(what string, wait time.Duration) error {
	e := &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeRateLimitExceeded, RetryAfter: wait,
	}
	e.Message = fmt.Sprintf("%s: try again in %ds", what, e.RetryAfterSeconds())
	return e
}
