package encryption

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestTextsOpenAtTheirPlaceWithThePresentAndTheFormerKey(t *testing.T) {
	t.Parallel()
	a, b, c := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{3}, 32)
	keys := func(present, previous []byte) Keys {
		keys, err := NewKeys(present, previous)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	text := keys(a, nil).Seal([]byte("secret"), []byte("here"))
	if bytes.Contains(text, []byte("secret")) {
		t.Error("the text is not encrypted")
	}
	for _, tt := range []struct {
		name  string
		keys  Keys
		place string
		want  bool
	}{
		{"the same key", keys(a, nil), "here", true}, {"the former key", keys(b, a), "here", true}, {"other keys", keys(b, c), "here", false},
		{"no key", keys(nil, nil), "here", false}, {"another place", keys(a, nil), "there", false},
	} {
		if plain, ok := tt.keys.Open(text, []byte(tt.place)); ok != tt.want || ok && string(plain) != "secret" {
			t.Errorf("%s: %q, %t", tt.name, plain, ok)
		}
	}
	if _, err := NewKeys(a[:31], nil); err == nil {
		t.Error("a key of 31 bytes is accepted")
	}
}

func TestErasingIsRepeatedSoonWhereRowsAreLeftOrItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Duration
		start := time.Now()
		go EraseInTime(ctx, slog.New(slog.DiscardHandler), "rows", func(_ context.Context, most int) (int64, error) {
			at = append(at, time.Since(start))
			switch len(at) {
			case 1:
				return int64(most), nil
			case 2:
				return 0, errors.New("no database")
			}
			return 1, nil
		})
		time.Sleep(15 * time.Minute)
		stop()
		synctest.Wait()
		want := []time.Duration{time.Minute, time.Minute + 100*time.Millisecond, 2*time.Minute + 100*time.Millisecond, 12*time.Minute + 100*time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("%v, not %v", at, want)
		}
	})
}
