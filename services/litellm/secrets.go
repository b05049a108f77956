package litellm

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
)

// keyring has the texts with which a LiteLLM may have encrypted the values of its database:
// its salt key, else its master key.
type keyring []string

// newKeyring takes them from the environment, also by files, and from the configuration.
func newKeyring(env func(string) string, configured string) (keys keyring) {
	if name, referenced := strings.CutPrefix(configured, reference); referenced {
		configured = env(name)
	}
	for _, name := range []string{"LITELLM_SALT_KEY", "LITELLM_MASTER_KEY"} {
		keys = append(keys, env(name))
		if path := env(name + "_FILE"); path != "" {
			content, _ := os.ReadFile(path) // without it the models are listed, with what to set
			keys = append(keys, strings.TrimSpace(string(content)))
		}
	}
	return append(keys, configured)
}

// open decrypts the texts of a column, those that it can: a LiteLLM leaves the others as they are.
// It is false where the column seems to be encrypted with another key.
func (k keyring) open(values map[string]any) bool {
	opened, sealed := false, false
	for name, value := range values {
		encrypted := text(value)
		for _, key := range k {
			if plain, ok := decrypt(encrypted, key); ok && key != "" {
				values[name], opened = plain, true
			}
		}
		sealed = sealed || strings.Contains(encrypted, gcmMark) || len(unbase64(encrypted)) >= boxNonce+secretbox.Overhead
	}
	return opened || !sealed
}

// The forms of encrypted texts, as in litellm/proxy/common_utils/encrypt_decrypt_utils.py of November
// 2026: v3:gcm: and v2:gcm: are AES-256-GCM, a nonce before what it encrypts; without a mark it is
// XSalsa20-Poly1305 of NaCl, likewise.
const (
	gcmMark  = ":gcm:"
	hkdfInfo = "litellm-at-rest-v3"
	boxNonce = 24
)

func decrypt(encrypted, key string) (plain string, ok bool) {
	secret := sha256.Sum256([]byte(key))
	version, rest, marked := strings.Cut(encrypted, gcmMark)
	if !marked {
		raw := unbase64(encrypted)
		if len(raw) < boxNonce+secretbox.Overhead {
			return "", false
		}
		opened, ok := secretbox.Open(nil, raw[boxNonce:], (*[boxNonce]byte)(raw), &secret)
		return string(opened), ok
	}
	derived := secret[:]
	if version == "v3" {
		derived, _ = hkdf.Key(sha256.New, []byte(key), nil, hkdfInfo, len(secret)) // fails for long keys only
	}
	block, _ := aes.NewCipher(derived) // fails for other lengths only
	gcm, _ := cipher.NewGCMWithRandomNonce(block)
	opened, err := gcm.Open(nil, nil, unbase64(rest), nil)
	return string(opened), err == nil
}

// unbase64 reads both alphabets: former versions wrote the usual one, later ones that of URLs. It is nil of what is neither.
func unbase64(text string) []byte {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	if raw, err := base64.RawStdEncoding.DecodeString(text); err == nil {
		return raw
	}
	return nil
}
