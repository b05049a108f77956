package auth

import (
	"context"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"modelgateway/models"
)

var keyPattern = regexp.MustCompile(`^mgw_[0-9A-Za-z]{49}$`)

func TestEveryKeyHasTheFormThatScannersKnow(t *testing.T) {
	seen := map[string]bool{}
	counts := map[byte]int{}
	const keys = 5000
	for range keys {
		text := newKey()
		if !keyPattern.MatchString(text) || !LooksLikeKey(text) {
			t.Fatalf("%s", text)
		}
		if seen[text] {
			t.Fatal("drawn twice")
		}
		seen[text] = true
		for _, c := range []byte(text[len(keyPrefix):keyBody]) {
			counts[c]++
		}
	}
	const want = keys * keyRandom / len(keyAlphabet)
	for _, c := range []byte(keyAlphabet) {
		if n := counts[c]; n < want*9/10 || n > want*11/10 { // six standard deviations
			t.Errorf("%q was drawn %d times, not about %d", c, n, want)
		}
	}
}

func TestTheFormOfAKeyDoesNotChange(t *testing.T) {
	const issued = "mgw_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg2T4Kjw"
	if !LooksLikeKey(issued) {
		t.Error("keys that were issued would be refused")
	}
	d := keyDigest(issued)
	if kept := hex.EncodeToString(d[:]); kept != "71d84b1859bad11abcb3dfd9353c8d1873aafd883ffaf6f2c9df7cbcfc3e1850" {
		t.Errorf("keys that were issued would not be found: %s", kept)
	}
}

func TestTyposFailWithoutTheDatabase(t *testing.T) {
	k := sqliteKeys(t).keyReplica()
	_, good := createKey(t, k, "ada")
	k.keyByHash = func(context.Context, string) (*models.KeyWithOwners, error) {
		t.Error("the database was asked")
		return nil, models.ErrNotFound
	}
	for _, typo := range typos(good) {
		if LooksLikeKey(typo) {
			t.Errorf("%q looks like a key", typo)
		}
		if _, err := k.Authenticate(t.Context(), typo); !refusedKey(err) {
			t.Errorf("%q: %v", typo, err)
		}
	}
}

func typos(good string) []string {
	all := []string{
		"", " ", keyPrefix, good + " ", " " + good, good + "\n", good + "\x00", good + good, "Bearer " + good,
		strings.ToUpper(good), strings.ToLower(good), "sk-" + good[4:], "mgw-" + good[4:], good[:keyBody], "sk-dummy",
		strings.Repeat("mgw_", 1000), strings.Repeat("a", 1<<20), keyPrefix + strings.Repeat("é", 24) + "0",
	}
	for i := range len(good) {
		all = append(all, good[:i]+good[i+1:]) // one left out
		for _, c := range []byte("0aZ_-+ \x00\xff") {
			if good[i] != c {
				all = append(all, good[:i]+string(c)+good[i+1:], good[:i]+string(c)+good[i:])
			}
		}
		if i > 0 && good[i] != good[i-1] {
			all = append(all, good[:i-1]+good[i:i+1]+good[i-1:i]+good[i+1:])
		}
	}
	return all
}

func FuzzLooksLikeKey(f *testing.F) {
	f.Add(newKey())
	f.Add("mgw_")
	f.Add("sk-dummy")
	f.Fuzz(func(t *testing.T, text string) {
		if LooksLikeKey(text) && !keyPattern.MatchString(text) {
			t.Errorf("%q", text)
		}
	})
}
