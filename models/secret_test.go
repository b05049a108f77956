package models_test

import (
	"bytes"
	"sync"
	"testing"
)

func TestReplicasShareASecretThatOneOfThemMade(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		migrated(t, address)
		const replicas = 5
		got := make([][]byte, replicas)
		var all sync.WaitGroup
		for i := range replicas {
			store := migrated(t, address)
			all.Go(func() {
				value, err := store.Secret(t.Context(), "one", bytes.Repeat([]byte{byte(i + 1)}, 32), 5)
				if err != nil {
					t.Error(err)
				}
				got[i] = value
			})
		}
		all.Wait()
		for i := range got {
			if len(got[i]) != 32 || !bytes.Equal(got[i], got[0]) {
				t.Errorf("replica %d has %x, the first one %x", i, got[i], got[0])
			}
		}
		store := migrated(t, address)
		if other, err := store.Secret(t.Context(), "two", bytes.Repeat([]byte{9}, 32), 5); err != nil || bytes.Equal(other, got[0]) {
			t.Errorf("another name: %x, %v", other, err)
		}
	})
}

func TestASecretThatWasChangedByHandIsAnError(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		for _, value := range []string{"", "zz", "00ff"} {
			execute(t, rawDB(t, address), "DELETE FROM secrets; INSERT INTO secrets (name, value, created_at) VALUES ('one', '"+value+"', 1)")
			if got, err := store.Secret(t.Context(), "one", make([]byte, 32), 5); err == nil {
				t.Errorf("%q is read as %x", value, got)
			}
		}
	})
}
