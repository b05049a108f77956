package anthropic

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"
)

// dataURL is a data URL, taken apart.
type dataURL struct {
	mediaType string // lower case, without parameters
	base64    bool
	text      string // base64 without white space, or percent-encoded
}

func readDataURL(s string) (dataURL, bool) {
	head, text, ok := strings.Cut(s, ",")
	if !ok || len(head) < len("data:") || !strings.EqualFold(head[:len("data:")], "data:") {
		return dataURL{}, false
	}
	mediaType, parameters, _ := strings.Cut(head[len("data:"):], ";")
	d := dataURL{mediaType: strings.ToLower(strings.TrimSpace(mediaType)), text: text}
	d.base64 = strings.HasSuffix(strings.ToLower(strings.TrimSpace(";"+parameters)), ";base64")
	if d.base64 && strings.ContainsAny(text, " \t\r\n") { // mail programs wrap base64
		d.text = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r == '\r' || r == '\n' {
				return -1
			}
			return r
		}, text)
	}
	return d, true
}

// head is the beginning of the decoded bytes, enough to recognize their type.
func (d dataURL) head() []byte {
	const enough = 24 // characters of base64: 18 bytes
	if !d.base64 {
		return nil
	}
	head := strings.TrimRight(d.text[:min(enough, len(d.text))], "=")
	out, err := base64.RawStdEncoding.DecodeString(head)
	if err != nil {
		return nil
	}
	return out
}

// decode returns the data as text; it is false when the data is not UTF-8.
func (d dataURL) decode() (string, bool) {
	if !d.base64 {
		text, err := url.PathUnescape(d.text)
		return text, err == nil && utf8.ValidString(text)
	}
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.text, "="))
	return string(out), err == nil && utf8.Valid(out)
}

// imageType recognizes the four kinds of images that Anthropic takes by their
// first bytes: clients mislabel images, and Anthropic refuses those. It is
// empty for anything else.
func imageType(head []byte) string {
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\x89PNG"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) >= 12 && strings.HasPrefix(s, "RIFF") && s[8:12] == "WEBP":
		return "image/webp"
	}
	return ""
}
