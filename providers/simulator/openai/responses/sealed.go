package responses

import (
	"encoding/base64"
	"strings"
)

// Content that only OpenAI can read begins like the tokens of its real format (Fernet).
// Here it is a text that the simulator reads again.
const sealMark = "gAAAAA"

// Encrypt makes encrypted content of a text.
func Encrypt(text string) string {
	return sealMark + base64.RawURLEncoding.EncodeToString([]byte("simulated "+text))
}

// Decrypt is the text of encrypted content, and whether the simulator made it.
func Decrypt(content string) (text string, ours bool) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(content, sealMark))
	if err != nil || !strings.HasPrefix(content, sealMark) {
		return "", false
	}
	return strings.CutPrefix(string(data), "simulated ")
}
