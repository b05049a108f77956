package compose

import (
	"testing"
)

// A client may repeat one id in a hundred thousand calls.
func TestRepeatedIDsTakeTimeInProportion(t *testing.T) {
	var ids CallIDs
	const many = 200_000
	given := map[string]bool{}
	for range many {
		given[ids.Unique("a")] = true
	}
	if len(given) != many {
		t.Errorf("%d ids", len(given))
	}
}
