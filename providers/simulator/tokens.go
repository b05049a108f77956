package simulator

import (
	"crypto/sha256"
	"hash"
	"strings"
	"sync"
	"unicode"
)

// mediaTokens is what an image or a file counts.
const mediaTokens = 85

func countTokens(s string) int { return len(strings.Fields(s)) }

// split cuts a text into its tokens: a word each, with the space before it.
// Space at the end stays with the last word.
func split(s string) []string {
	var tokens []string
	start, inWord := 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if space && inWord {
			tokens = append(tokens, s[start:i])
			start = i
		}
		inWord = !space
	}
	switch {
	case inWord:
		tokens = append(tokens, s[start:])
	case len(tokens) > 0:
		tokens[len(tokens)-1] += s[start:]
	}
	return tokens
}

// A transcript counts a prompt as it is read and remembers where its messages
// end, which is where a prompt cache can pick it up again.
type transcript struct {
	sum      hash.Hash
	tokens   int
	media    int // how many of them are images and files
	prefixes []prefix
}

// A prefix is the beginning of a prompt. The provider may cache it where it
// is marked.
type prefix struct {
	sum    [sha256.Size]byte
	tokens int
	marked bool
}

func (t *transcript) note(role, text string) {
	t.hash(role, text)
	t.tokens += countTokens(text)
}

func (t *transcript) noteMedia(data string) {
	t.hash("media", data)
	t.tokens += mediaTokens
	t.media += mediaTokens
}

func (t *transcript) hash(role, text string) {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	// A hash never fails to write.
	_, _ = t.sum.Write([]byte(role + "\x00" + text + "\x00"))
}

func (t *transcript) mark(marked bool) {
	t.hash("end", "")
	p := prefix{tokens: t.tokens, marked: marked}
	copy(p.sum[:], t.sum.Sum(nil))
	t.prefixes = append(t.prefixes, p)
}

// promptCacheSize bounds how many prefixes are remembered.
const promptCacheSize = 4096

// A promptCache stands in for the providers' prompt caches.
type promptCache struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]struct{}
	order [][sha256.Size]byte
}

func newPromptCache() *promptCache {
	return &promptCache{known: map[[sha256.Size]byte]struct{}{}}
}

// use says how many tokens of a prompt are read from the cache and how many are
// written to it, up to its last mark. What was written by an earlier prompt is
// found again whether it is marked in this one or not. Prefixes of fewer than
// min tokens are not cached.
func (c *promptCache) use(prefixes []prefix, min int) (read, written int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest, seen := 0, 0
	for _, p := range prefixes {
		if p.tokens < min {
			continue
		}
		_, known := c.known[p.sum]
		if known {
			seen = p.tokens
		}
		if !p.marked {
			continue
		}
		longest, read = p.tokens, seen
		if !known {
			c.remember(p.sum)
		}
	}
	return read, longest - read
}

func (c *promptCache) remember(sum [sha256.Size]byte) {
	if len(c.order) >= promptCacheSize {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[sum] = struct{}{}
	c.order = append(c.order, sum)
}
