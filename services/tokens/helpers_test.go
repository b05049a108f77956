package tokens

import (
	"sync"

	"modelgateway/catalog"
	"modelgateway/config"
)

const (
	haiku = "claude-haiku-4-5-20251001"
	gpt   = "gpt-4"
)

// embedded is the catalogue, read once.
var embedded = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load("") })

func poolOf(keys ...string) []config.Secret {
	var pool []config.Secret
	for _, k := range keys {
		pool = append(pool, config.NewSecret(k))
	}
	return pool
}
