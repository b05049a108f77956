// Package encryption encrypts the parts of calls that the database stores, and deletes them when
// their retention ends.
package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"log/slog"
	"time"
)

// Keys encrypt with AES-256-GCM. The first one seals, each of them opens. None: nothing can
// be sealed or opened.
type Keys []cipher.AEAD

// NewKeys makes the keys of the present secret and of the one before. A secret is of 32
// bytes; an empty one is left out.
func NewKeys(present, previous []byte) (Keys, error) {
	var keys Keys
	for _, secret := range [][]byte{present, previous} {
		if len(secret) == 0 {
			continue
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		key, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Seal encrypts a text and binds it to its place, such as the id of its row: Open fails with
// another place.
func (k Keys) Seal(text, place []byte) []byte { return k[0].Seal(nil, nil, text, place) }

// Open decrypts a text, or says that no key fits.
func (k Keys) Open(text, place []byte) (plain []byte, ok bool) {
	for _, key := range k {
		if plain, err := key.Open(nil, nil, text, place); err == nil {
			return plain, true
		}
	}
	return nil, false
}

// EraseInTime calls erase until ctx ends, every ten minutes and sooner where rows are left.
// erase removes up to most rows whose retention has ended, and returns their number. what
// names the rows in the log, in the plural.
func EraseInTime(ctx context.Context, log *slog.Logger, what string, erase func(ctx context.Context, most int) (int64, error)) {
	const every, retry, soon, most = 10 * time.Minute, time.Minute, 100 * time.Millisecond, 500
	for wait := retry; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = every
		n, err := erase(ctx, most)
		switch {
		case err != nil && ctx.Err() == nil:
			wait = retry
			log.Warn(what+" whose retention has ended could not be deleted: the gateway tries again in a minute", "error", err)
		case n == most:
			wait = soon
		}
	}
}
