package models_test

import (
	"testing"
	"time"

	"modelgateway/models"
)

func TestARequestIDTellsWhenItWasMade(t *testing.T) {
	seen, last := map[string]bool{}, ""
	for i := range 1000 {
		at := time.UnixMilli(1795402061833 + int64(i))
		id := models.NewRequestID(at)
		got, ok := models.RequestIDTime(id)
		if !ok || !got.Equal(at) || len(id) != 30 || seen[id] || id < last {
			t.Fatalf("%q after %q: %v %t, made at %v", id, last, got, ok, at)
		}
		seen[id], last = true, id
	}
	for _, id := range []string{"", "req_", "my-own-id", "req_WB4UWCIIMJWAZAF5KQXBJY4U7J", "req_0000000000AAAAAAAAAAAAAAAA", last + "A", last[1:]} {
		if at, ok := models.RequestIDTime(id); ok {
			t.Errorf("%q is of %v", id, at)
		}
	}
}
