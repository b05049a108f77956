package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// No fault in this file shows the text that it is about: it is a secret.

// keys is a pool of API keys.
func keys(into *[]Secret) format {
	return format{"one key or several, comma-separated", func(text string) error {
		var pool []Secret
		seen := make(map[string]bool)
		all := list(&pool, "", func(item string) (Secret, error) {
			if !graphic(item) {
				return Secret{}, errors.New("a key contains a space, a control character or a character that is not ASCII")
			}
			if strings.ContainsAny(item, `"'`) {
				return Secret{}, errors.New("a key contains a quote; docker's --env-file keeps quotes as part of the value")
			}
			if seen[item] {
				return Secret{}, errors.New("the key is listed twice")
			}
			seen[item] = true
			return NewSecret(item), nil
		})
		err := all.parse(text)
		*into = pool
		return err
	}}
}

// OneKey reads a key of a provider as its setting does.
func OneKey(text string) (Secret, error) {
	const longest = 4096
	var pool []Secret
	err := keys(&pool).parse(text)
	if err == nil && (len(pool) > 1 || len(text) > longest) {
		err = errors.New("it is too long, or there are several")
	}
	if err != nil {
		return Secret{}, err
	}
	return pool[0], nil
}

// credential is a client secret or a token. RFC 6749, appendix A.2, allows
// printable ASCII.
func credential(into *Secret) format {
	return format{"printable ASCII", func(text string) error {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return errors.New("contains a control character or a character that is not ASCII")
		}
		if strings.Trim(text, " ") != text {
			return errors.New("begins or ends with a space")
		}
		*into = NewSecret(text)
		return nil
	}}
}

// minSigning is the size of HS256's output in bytes. RFC 7518, section 3.2,
// allows no shorter key.
const minSigning = 32

// fewestDifferent is how many different bytes a secret has at least. Of random
// secrets of 32 hexadecimal digits about one in three thousand has fewer.
const fewestDifferent = 10

func differentBytes(text string) int {
	seen := make(map[byte]bool)
	for i := range len(text) {
		seen[text[i]] = true
	}
	return len(seen)
}

// repeated reports whether a text is one piece, twice or more; the last one may be
// cut off.
func repeated(text string) bool {
	for size := 1; size <= len(text)/2; size++ {
		if text[size:] == text[:len(text)-size] {
			return true
		}
	}
	return false
}

// generate is advice for a secret that is refused.
const generate = "generate one with: openssl rand -hex 32"

// signing is a secret that signs tokens. All bytes are accepted, such as those
// of a random file, but no text that can be guessed.
func signing(into *Secret) format {
	return format{"at least 32 random bytes", func(text string) error {
		switch {
		case strings.TrimSpace(text) == "":
			return errors.New("only white space")
		case wellKnown(text) != "":
			return errors.New("a well-known value, which attackers try first: " + wellKnown(text) + "; " + generate)
		case len(text) < minSigning:
			return errors.New("shorter than 32 bytes; " + generate)
		case repeated(text):
			return errors.New("a repeated piece; " + generate)
		case differentBytes(text) < fewestDifferent:
			return errors.New("fewer than 10 different characters; " + generate)
		case guessBits(text) < fewestBits:
			return fmt.Errorf("easy to guess: its words and characters are worth about %d random bits, and %d are needed; %s",
				guessBits(text), fewestBits, generate)
		}
		*into = NewSecret(text)
		return nil
	}}
}

// encryption is a key of AES-256, which becomes its 32 bytes.
func encryption(into *Secret) format {
	return format{"32 random bytes in hex or base64", func(text string) error {
		const size = 32
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != size {
			unpadded := strings.TrimRight(text, "=")
			if key, err = base64.RawStdEncoding.DecodeString(unpadded); err != nil {
				key, err = base64.RawURLEncoding.DecodeString(unpadded)
			}
		}
		switch {
		case err != nil || len(key) != size:
			return errors.New("not 32 bytes in hex or base64; " + generate)
		case differentBytes(string(key)) < fewestDifferent:
			return errors.New("fewer than 10 different bytes; " + generate)
		}
		*into = NewSecret(string(key))
		return nil
	}}
}

// wellKnown says why a secret is an example of documentation or of a template,
// regardless of case and punctuation, once or repeated; empty: it is none.
func wellKnown(secret string) string {
	letters := strings.Map(func(r rune) rune {
		if isWordRune(r) && r != '_' {
			return r
		}
		return -1
	}, strings.ToLower(secret))
	for _, marker := range placeholderMarkers {
		if strings.Contains(letters, marker) {
			return "it contains " + marker + ", as examples and templates do"
		}
	}
	// A text of mostly other bytes is no example, even if its letters form one.
	if len(letters)*2 < len(secret) {
		return ""
	}
	if slices.ContainsFunc(publishedSecrets, func(value string) bool { return repeats(letters, value) }) {
		return "it is a published example, alone or repeated"
	}
	return ""
}

// repeats reports whether s is word, once or more; the last one may be cut off.
func repeats(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	return strings.HasPrefix(strings.Repeat(word, len(s)/len(word)+1), s)
}

// placeholderMarkers occur in the placeholders of templates, here without
// punctuation. No random secret contains one.
var placeholderMarkers = []string{
	"changeme", "changethis", "changeinproduction", "replaceme", "replacethis", "replacewith", "replaceby",
	"yoursecret", "yourjwtsecret", "yoursupersecret", "yourverysecret", "your256bitsecret", "your512bitsecret",
	"yoursigningsecret", "yoursigningkey", "insertyour", "pleasechange",
	"supersecretjwt",          // Supabase: super-secret-jwt-token-with-at-least-32-characters-long
	"astringsecretatleast256", // jwt.io: a-string-secret-at-least-256-bits-long
	"atleast32char", "correcthorsebattery", "qwertyuiop", "asdfghjkl", "mysecretkey", "mysupersecret", "abcdefghij",
}

// publishedSecrets are secrets of published examples, without punctuation.
var publishedSecrets = []string{
	"change", "changeit", "secret", "secretkey", "secretjwtkey", "secrettoken", "thesecret", "mysecret",
	"mysecretkey", "mysupersecretkey", "supersecret", "supersecretkey", "supersecretjwtkey", "verysecret",
	"verysecretkey", "topsecret", "jwtsecret", "jwtsecretkey", "myjwtsecret", "signingsecret", "signingkey",
	"password", "passw0rd", "default", "defaultsecret", "example", "examplesecret", "admin", "root", "letmein",
	"qwerty", "qwertyuiop", "abc123", "1234567890", "12345678", "123456", "modelgateway", "gateway",
	"gatewaysecret", "undefined", "null", "none", "true", "false", "todo", "opensslrandhex32",
	"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz1234567890",
	"abcdefghijklmnopqrstuvwxyz123456",
}
