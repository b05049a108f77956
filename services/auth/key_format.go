package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
)

// A key has 53 characters: the prefix, 43 random characters (each one of 62, so
// 256 bits), and a checksum of both. A secret scanner finds a key with
// \bmgw_[0-9A-Za-z]{49}\b, and the checksum confirms it.
const (
	keyPrefix = "mgw_"
	keyRandom = 43
	keyCheck  = 6 // 62⁶ > 2³²

	keyBody   = len(keyPrefix) + keyRandom
	keyLength = keyBody + keyCheck

	keyAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// keyShown is the number of characters that lists show of a key.
const keyShown = len(keyPrefix) + 4

// digest is the SHA-256 of a key's random characters; the database stores it
// instead of the key. 256 random bits cannot be guessed, so a slow password hash
// would add nothing.
type digest [sha256.Size]byte

// LooksLikeKey reports whether text has the form of a key of this gateway, its
// checksum included. A mistyped key fails here, without a look-up.
func LooksLikeKey(text string) bool {
	if len(text) != keyLength || text[:len(keyPrefix)] != keyPrefix {
		return false
	}
	for _, c := range []byte(text[len(keyPrefix):keyBody]) {
		if !alphanumeric(c) {
			return false
		}
	}
	sum := keyChecksum(text[:keyBody])
	return string(sum[:]) == text[keyBody:]
}

// newKey returns a random key.
func newKey() string {
	text := make([]byte, 0, keyLength)
	text = append(text, keyPrefix...)
	const even = 256 / len(keyAlphabet) * len(keyAlphabet) // higher bytes would favour some characters
	for drawn := make([]byte, 2*keyRandom); len(text) < keyBody; {
		_, _ = rand.Read(drawn) // never returns an error: it ends the process instead
		for _, b := range drawn {
			if int(b) < even && len(text) < keyBody {
				text = append(text, keyAlphabet[int(b)%len(keyAlphabet)])
			}
		}
	}
	sum := keyChecksum(string(text))
	return string(append(text, sum[:]...))
}

// keyDigest returns the digest of a text that looks like a key.
func keyDigest(text string) digest {
	var random [keyRandom]byte // a conversion would allocate
	copy(random[:], text[len(keyPrefix):])
	return sha256.Sum256(random[:])
}

// keyChecksum returns the CRC-32 (IEEE) of a key's body in base 62. It reads the
// string itself: the library's function needs a copy of it as bytes.
func keyChecksum(body string) (text [keyCheck]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[byte(sum)^body[i]] ^ sum>>8
	}
	sum = ^sum
	for i := range text {
		text[keyCheck-1-i] = keyAlphabet[sum%uint32(len(keyAlphabet))]
		sum /= uint32(len(keyAlphabet))
	}
	return text
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
