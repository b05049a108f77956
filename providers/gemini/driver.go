package gemini

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
)

// Driver makes Gemini a provider of the gateway.
var Driver = providers.Driver{
	ProviderSettings: config.ProviderSettings{
		Name: catalog.Gemini, Title: "Gemini", Prefix: "GEMINI", Models: "gemini",
		BaseURL: "https://generativelanguage.googleapis.com", Version: "/v1beta", OtherKeys: []string{"GOOGLE_API_KEY"},
	},
	OTelName:  "gcp.gemini",
	Simulated: true,
	Images:    providers.Images{MaxTokens: 5_000, IsImage: isImage},
	New:       func(opts providers.Options) providers.Provider { return New(opts) },
}

// isImage reports whether the address of a picture can be nothing but a
// picture. Gemini takes videos, audio and documents in the same field, and
// determines the type of a link itself.
func isImage(address string) bool {
	if kind, ok := strings.CutPrefix(address, "data:"); ok {
		return len(kind) > len("image/") && strings.EqualFold(kind[:len("image/")], "image/")
	}
	u, err := url.Parse(address)
	return err == nil && slices.Contains(imageSuffixes, strings.ToLower(path.Ext(u.Path)))
}

// imageSuffixes are the file name extensions of pictures.
var imageSuffixes = []string{".png", ".jpg", ".jpeg", ".webp", ".gif", ".heic", ".heif", ".bmp"}
