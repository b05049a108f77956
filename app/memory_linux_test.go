package app

import (
	"slices"
	"strings"
	"testing"
)

func TestPagesThatTheLoaderChangedAreKept(t *testing.T) {
	t.Parallel()
	smaps := `00400000-00500000 r-xp 00000000 fe:00 1   /bin/gateway
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00100000 fe:00 1   /bin/gateway
Anonymous:             0 kB
Swap:                  0 kB
00600000-00700000 r--p 00200000 fe:00 1   /bin/gateway
Anonymous:            12 kB
Swap:                  0 kB
00700000-00800000 r--p 00300000 fe:00 1   /bin/gateway
Anonymous:             0 kB
Swap:                  4 kB
00800000-00900000 rw-p 00400000 fe:00 1   /bin/gateway
Anonymous:             0 kB
Swap:                  0 kB
00900000-00a00000 r-xp 00000000 fe:00 2   /lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
00a00000-00b00000 r--p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
`
	want := []mapping{{0x400000, 0x100000}, {0x500000, 0x100000}}
	if got := unchangedMappings(strings.NewReader(smaps), "/bin/gateway"); !slices.Equal(got, want) {
		t.Errorf("%x, not %x", got, want)
	}
}

// The program goes on after its pages were dropped, also where it was linked with C.
func TestTheProgramRunsWithoutItsPages(t *testing.T) {
	for range 3 {
		dropProgramPages()
		if got := strings.Repeat("ab", 2); got != "abab" {
			t.Fatal(got)
		}
	}
}
