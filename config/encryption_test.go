package config

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// Keys of AES-256.
const (
	goodEncryption  = "8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd"
	otherEncryption = "1a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd8c1f5e"
)

func TestKeyOfEncryptionIsHexOrBase64(t *testing.T) {
	want, err := hex.DecodeString(goodEncryption)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		goodEncryption, strings.ToUpper(goodEncryption), base64.StdEncoding.EncodeToString(want), base64.RawStdEncoding.EncodeToString(want),
		base64.URLEncoding.EncodeToString(want), base64.RawURLEncoding.EncodeToString(want),
	} {
		if c := mustLoad(t, "", "ENCRYPTION_KEY="+text); c.EncryptionKey.Reveal() != string(want) || c.ResponsesStore != time.Hour {
			t.Errorf("%s: %x", text, c.EncryptionKey.Reveal())
		}
	}
	c := mustLoad(t, "", "RESPONSES_STORE_HOURS=24", "ENCRYPTION_KEY="+goodEncryption, "ENCRYPTION_KEY_PREVIOUS="+otherEncryption)
	if c.ResponsesStore != 24*time.Hour || c.EncryptionKeyPrevious.IsZero() {
		t.Errorf("%s", c.ResponsesStore)
	}
	for _, off := range [][]string{nil, {"RESPONSES_STORE_HOURS=0", "ENCRYPTION_KEY=" + goodEncryption}} {
		if c := mustLoad(t, "", off...); c.ResponsesStore != 0 {
			t.Errorf("%v: %s", off, c.ResponsesStore)
		}
	}
}

func TestConversationsAreNotKeptWithoutAGoodKey(t *testing.T) {
	zeros := strings.Repeat("00", 32)
	for want, settings := range map[string][]string{
		"ENCRYPTION_KEY: missing, but required by RESPONSES_STORE_HOURS":       {"RESPONSES_STORE_HOURS=1"},
		"ENCRYPTION_KEY: missing, but required by LOG_PROMPTS":                 {"LOG_PROMPTS=errors"},
		"ENCRYPTION_KEY: not 32 bytes in hex or base64":                        {"RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY=" + goodEncryption[2:]},
		"ENCRYPTION_KEY: fewer than 10 different bytes":                        {"ENCRYPTION_KEY=" + zeros},
		"ENCRYPTION_KEY_PREVIOUS: set without ENCRYPTION_KEY":                  {"ENCRYPTION_KEY_PREVIOUS=" + goodEncryption},
		"ENCRYPTION_KEY_PREVIOUS: the same as ENCRYPTION_KEY":                  {"ENCRYPTION_KEY=" + goodEncryption, "ENCRYPTION_KEY_PREVIOUS=" + goodEncryption},
		"RESPONSES_STORE_HOURS: \"8761\" is not a whole number from 0 to 8760": {"RESPONSES_STORE_HOURS=8761"},
	} {
		_, err := Load(settings, "", nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), goodEncryption[2:]) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
