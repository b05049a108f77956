package pool

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// Speaks says whether the provider speaks a dialect of the clients itself with a model, or with
// any of its models where that is nil.
func (u *Upstream) Speaks(d llm.Dialect, m *catalog.Model) bool {
	return u.can.Speaks != nil && u.can.Speaks(d, m)
}

// ErrCannotCount says that a provider has no way to count the tokens of a prompt, or no key
// that can be used for it now.
var ErrCannotCount = errors.New("the provider cannot count the tokens of a prompt")

// Count asks the provider for the size of a prompt, with the least loaded of the keys that
// are usable for the model, and returns the provider's id of the request as well. What
// comes back changes no cooldown and no circuit: providers limit these requests apart from
// others, and some servers do not have them.
func (u *Upstream) Count(ctx context.Context, call providers.Call) (n providers.Count, requestID string, err error) {
	key := u.idle(call.Model.ID)
	if kept := call.Request.Kept; kept != nil {
		key = u.keyOf(kept.Key)
	}
	if u.can.Count == nil || key == nil {
		return n, "", ErrCannotCount
	}
	named := upstream.Call{Context: ctx}
	n, err = u.can.Count(&named, call, key.secret.Reveal()) //nolint:contextcheck // it wraps ctx
	return n, named.RequestID, err
}

// Kept asks the provider about a response that it keeps, with the key that made it, and
// returns the JSON of the answer and the provider's id of the request. What comes back
// changes no cooldown and no circuit.
func (u *Upstream) Kept(ctx context.Context, ask providers.KeptAsk, key []byte) (answer []byte, requestID string, err error) {
	with := u.keyOf(key)
	if u.can.Kept == nil || with == nil {
		return nil, "", ErrNoKey
	}
	named := upstream.Call{Context: ctx}
	answer, err = u.can.Kept(&named, ask, with.secret.Reveal()) //nolint:contextcheck // it wraps ctx
	return answer, named.RequestID, err
}

// keyOf is the key with this Fingerprint; nil if there is none.
func (u *Upstream) keyOf(mark []byte) *Key {
	at := slices.IndexFunc(u.keys, func(k *Key) bool { return bytes.Equal(k.mark, mark) })
	if at < 0 {
		return nil
	}
	return u.keys[at]
}

// idle is the least loaded of the keys that are not cooling down for the model and whose
// circuit is closed; nil if there is none.
func (u *Upstream) idle(model string) (least *Key) {
	for _, k := range u.keys {
		if !k.open() && !k.coolingDown(model) && (least == nil || k.live.Load() < least.live.Load()) {
			least = k
		}
	}
	return least
}
