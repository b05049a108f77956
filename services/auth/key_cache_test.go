package auth

import "testing"

func TestCacheSizeCountsValidAndRejectedKeys(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k := h.keyReplica()
		before := k.CacheSize()
		_, text := createKey(t, k, "ada")
		keyOpens(k, text)
		revoked, gone := createKey(t, k, "ada")
		if err := k.Revoke(t.Context(), "ada", revoked.ID); err != nil {
			t.Fatal(err)
		}
		keyOpens(k, gone)
		good, refused := cachedCount(k)
		if got := k.CacheSize() - before; good != 1 || refused != 1 || got != 2 {
			t.Errorf("%d good, %d refused, %d remembered", good, refused, got)
		}
	})
}
