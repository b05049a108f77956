package providertest

import (
	"sync"
	"testing"

	"modelgateway/catalog"
)

// embedded is read once: that takes half a second under the race detector.
var embedded = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load("") })

// Catalog is the catalogue of the program, without a file of an operator.
func Catalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
