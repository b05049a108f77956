package auth

import "testing"

func TestRememberedCountsGoodAndRefusedKeys(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
		k := h.keyReplica()
		before := k.Remembered()
		_, text := createKey(t, k, "ada")
		keyOpens(k, text)
		revoked, gone := createKey(t, k, "ada")
		if err := k.Revoke(t.Context(), "ada", revoked.ID); err != nil {
			t.Fatal(err)
		}
		keyOpens(k, gone)
		good, refused := cachedCount(k)
		if got := k.Remembered() - before; good != 1 || refused != 1 || got != 2 {
			t.Errorf("%d good, %d refused, %d remembered", good, refused, got)
		}
	})
}
