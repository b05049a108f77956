package account

import (
	"strings"
	"testing"

	"modelgateway/api"
)

func TestPasswordsHaveEightTo72Bytes(t *testing.T) {
	for _, tt := range []struct {
		password string
		good     bool
	}{
		{"", false},
		{"1234567", false},
		{"12345678", true},
		{strings.Repeat("x", 72), true},
		{strings.Repeat("x", 73), false},
		{strings.Repeat("\u00e9", 4), true}, // bytes, not letters
		{strings.Repeat("\u00e9", 37), false},
		{strings.Repeat("x", 1<<20), false},
		{"\x00\x00\x00\x00\x00\x00\x00\x00", true},
	} {
		if err := checkPassword("password", tt.password); (err == nil) != tt.good || !tt.good && code(err) != api.CodeWeakPassword {
			t.Errorf("%.10q of %d bytes: %v", tt.password, len(tt.password), err)
		}
	}
}

func TestEveryByteOfAPasswordCounts(t *testing.T) {
	long := strings.Repeat("x", 72)
	for _, tt := range []struct{ password, other string }{
		{long, long + "y"},
		{long, long[:71]},
		{long, long[:71] + "y"},
		{"abcdefgh", "abcdefgh\x00"},
		{"abcdefgh", "abcdefgh\x00abcdefgh"},
		{"abc\x00defgh", "abc\x00xxxxx"},
		{"abcdefgh", "ABCDEFGH"},
		{"abcdefgh", ""},
	} {
		hash := hashPassword(tt.password)
		if !passwordMatches(hash, tt.password) {
			t.Errorf("%q does not match its hash", tt.password)
		}
		if passwordMatches(hash, tt.other) {
			t.Errorf("%q is taken for %q", tt.other, tt.password)
		}
		if strings.Contains(hash, tt.password) || hash == hashPassword(tt.password) {
			t.Errorf("the hash %q has no salt, or the password", hash)
		}
	}
}

func TestHashesThatAreNotOursMatchNothing(t *testing.T) {
	good := hashPassword("password")
	parts := strings.Split(good, "$")
	with := func(i int, text string) string {
		changed := append([]string(nil), parts...)
		changed[i] = text
		return strings.Join(changed, "$")
	}
	for _, hash := range []string{
		"", "x", "$", "password", good[:len(good)-1], good[1:], good + "$", good + "$x", noPassword(),
		with(1, "argon2i"), with(2, "v=18"), with(3, "m=9216,t=0,p=1"), with(3, "m=9216,t=4,p=2"), with(3, "m=9216"), with(4, "!"), with(5, "!"), with(5, ""),
		"$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
	} {
		for _, password := range []string{"password", "", "12345678"} {
			if passwordMatches(hash, password) {
				t.Errorf("%q matches %q", hash, password)
			}
		}
	}
}
