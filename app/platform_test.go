package app

import (
	"slices"
	"testing"
)

func TestTheStartOnWindowsSaysWhatDiffersThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system, database string
		want             []string
	}{
		{"linux", "sqlite:data/gateway.db", nil},
		{"darwin", "sqlite:data/gateway.db", nil},
		{"windows", "sqlite:data/gateway.db", []string{"DATABASE_URL", "SHUTDOWN_GRACE_SECONDS"}},
		{"windows", "postgres://localhost/gateway", []string{"SHUTDOWN_GRACE_SECONDS"}},
	} {
		w := silentWarner()
		warnOfPlatform(c.system, c.database, w)
		var got []string
		for _, warning := range w.kept {
			got = append(got, warning.Setting)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with %s: warnings of %q, want %q", c.system, c.database, got, c.want)
		}
	}
}
