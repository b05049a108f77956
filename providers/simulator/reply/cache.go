package reply

import (
	"crypto/sha256"
	"sync"

	"modelgateway/llm"
)

// cacheSize bounds how many prefixes are kept; the oldest is dropped.
const cacheSize = 4096

// Cache simulates a provider's prompt cache. It is safe for use by several
// requests at once.
type Cache struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]struct{}
	order [][sha256.Size]byte
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{known: map[[sha256.Size]byte]struct{}{}} }

// Use returns how many tokens of a prompt are read from the cache and how many
// are written to it, up to its last cacheable prefix. A prefix that an earlier
// prompt wrote is read whether it is cacheable in this one or not. Prefixes of
// fewer than least tokens are not cached.
func (c *Cache) Use(p *Prompt, least int) (read, written int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest, found := 0, 0
	for _, p := range p.prefixes {
		if p.tokens < least {
			continue
		}
		_, known := c.known[p.sum]
		if known {
			found = p.tokens
		}
		if !p.cacheable {
			continue
		}
		longest, read = p.tokens, found
		if !known {
			c.add(p.sum)
		}
	}
	return read, longest - read
}

// Usage counts a prompt and its replies. The cache works in steps of so many tokens.
func (c *Cache) Usage(p *Prompt, replies []Reply, least, step int) *llm.Usage {
	read, written := c.Use(p, least)
	u := &llm.Usage{
		Input: int64(p.Tokens()), HasCache: true, Cached: int64(read - read%step), CacheWrite: int64(written), HasReasoning: true,
	}
	for _, r := range replies {
		u.Reasoning += int64(r.ReasoningTokens())
		u.Output += int64(r.ReasoningTokens() + r.AnswerTokens())
	}
	u.Total = u.Input + u.Output
	return u
}

func (c *Cache) add(sum [sha256.Size]byte) {
	if len(c.order) >= cacheSize {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[sum] = struct{}{}
	c.order = append(c.order, sum)
}
