package pool

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// sortBySession sorts keys by rendezvous hashing: each key has a number for a conversation,
// and the largest comes first. All replicas choose the same, and when a key is missing only
// its own conversations get another one.
func sortBySession(keys []*Key, session string) {
	of := hashOf(session)
	slices.SortFunc(keys, func(a, b *Key) int { return cmp.Compare(mixed(b.hash^of), mixed(a.hash^of)) })
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// mixed spreads the bits of a number over all of it (the finalizer of MurmurHash3).
func mixed(n uint64) uint64 {
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}
