package registry

import (
	"testing"
	"time"

	"modelgateway/catalog"
)

// BenchmarkResolve measures the look-up of a name that no list of models has, which each
// call makes several times.
func BenchmarkResolve(b *testing.B) {
	list, err := catalog.Load("")
	if err != nil {
		b.Fatal(err)
	}
	m := New(list, chats(map[string]bool{catalog.OpenAI: true}), func() time.Time { return november })
	for _, name := range []string{"gpt-4", "gpt-5.4", "gpt-5.4-2030-01-01", "gpt-unheard-of"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Resolve(name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
