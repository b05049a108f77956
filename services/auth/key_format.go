package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
)

// A key is 53 characters: the mark, 43 random characters (each one of 62, so
// 256 bits), and a checksum of what stands before it. A secret scanner finds
// one with \bmgw_[0-9A-Za-z]{49}\b and knows by the checksum that it is one.
const (
	keyMark   = "mgw_"
	keyRandom = 43
	keyCheck  = 6 // 62⁶ > 2³²

	keyBody   = len(keyMark) + keyRandom
	keyLength = keyBody + keyCheck

	keyAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// keyShown is how much of a key people are shown to tell it from others.
const keyShown = len(keyMark) + 4

// digest is the SHA-256 of a key's random characters: what is kept of a key.
// They are too many to be guessed, so that no slower hash is called for.
type digest [sha256.Size]byte

// LooksLikeKey says whether text has the form of a key of this gateway, its
// checksum included. A mistyped key fails here, and costs no look-up.
func LooksLikeKey(text string) bool {
	if len(text) != keyLength || text[:len(keyMark)] != keyMark {
		return false
	}
	for _, c := range []byte(text[len(keyMark):keyBody]) {
		if !alphanumeric(c) {
			return false
		}
	}
	sum := keyChecksum(text[:keyBody])
	return string(sum[:]) == text[keyBody:]
}

// newKey draws a key.
func newKey() string {
	text := make([]byte, 0, keyLength)
	text = append(text, keyMark...)
	const even = 256 / len(keyAlphabet) * len(keyAlphabet) // bytes from here on would favour some characters
	for drawn := make([]byte, 2*keyRandom); len(text) < keyBody; {
		_, _ = rand.Read(drawn) // it never fails: it ends the process first
		for _, b := range drawn {
			if int(b) < even && len(text) < keyBody {
				text = append(text, keyAlphabet[int(b)%len(keyAlphabet)])
			}
		}
	}
	sum := keyChecksum(string(text))
	return string(append(text, sum[:]...))
}

// keyDigest is the digest of a text that looks like a key.
func keyDigest(text string) digest {
	var random [keyRandom]byte // a conversion would allocate
	copy(random[:], text[len(keyMark):])
	return sha256.Sum256(random[:])
}

// keyChecksum is the CRC-32 (IEEE) of a key's beginning, in base 62. It goes
// over the string itself, since the library's function has it copied.
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
