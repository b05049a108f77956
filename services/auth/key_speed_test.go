package auth

import (
	"testing"
)

func BenchmarkAuthenticateKnownKey(b *testing.B) {
	k := sqliteKeys(b).keyReplica()
	_, text := createKey(b, k, "ada")
	runKeys(b, k)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Authenticate(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateKnownKeyParallel(b *testing.B) {
	k := sqliteKeys(b).keyReplica()
	_, text := createKey(b, k, "ada")
	runKeys(b, k)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := k.Authenticate(b.Context(), text); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkAuthenticateMistypedKey(b *testing.B) {
	k := sqliteKeys(b).keyReplica()
	text := newKey()
	wrong := text[:keyLength-1] + "!"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Authenticate(b.Context(), wrong); err == nil {
			b.Fatal("let in")
		}
	}
}
