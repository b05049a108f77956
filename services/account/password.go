package account

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"modelgateway/api"
)

const (
	shortestPassword = 8 // bytes
	longestPassword  = 72
)

func checkPassword(param, password string) error {
	if len(password) < shortestPassword || len(password) > longestPassword {
		return api.Invalid(api.CodeWeakPassword, param, "%s must have %d to %d bytes", param, shortestPassword, longestPassword)
	}
	return nil
}

// The cost of argon2id: one of the settings that OWASP's Password Storage Cheat
// Sheet calls equivalent, and one with little memory.
const (
	argonMemory = 9 << 10 // KiB
	argonPasses = 4
	argonSalt   = 16 // bytes
	argonKey    = 32
)

// argonForm is the string format of the Password Hashing Competition, with the
// base64 of salt and key at its end.
const argonForm = "$argon2id$v=%d$m=%d,t=%d,p=1$"

// hashPassword takes about 40 ms of one core: callers must hold a worker of the
// hashQueue.
func hashPassword(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never returns an error
	return argonText(salt, argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, 1, argonKey))
}

func argonText(salt, key []byte) string {
	return fmt.Sprintf(argonForm, argon2.Version, argonMemory, argonPasses) +
		base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

// noPassword returns a hash that no password has. Comparing it takes as long as
// any other.
func noPassword() string { return argonText(make([]byte, argonSalt), make([]byte, argonKey)) }

// passwordMatches takes as long as hashPassword, unless the hash is not one of
// ours.
func passwordMatches(hash, password string) bool {
	var version, memory, passes uint32
	if _, err := fmt.Sscanf(hash, argonForm, &version, &memory, &passes); err != nil || version != argon2.Version || passes == 0 {
		return false
	}
	parts := strings.Split(hash, "$")
	if len(parts) != 6 {
		return false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(key) != argonKey {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, 1, argonKey)
	return subtle.ConstantTimeCompare(got, key) == 1
}
