//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"modelgateway/bench/child"
)

// locks lists where calls wait for each other: the profiles of contended mutexes and of waits
// for them, of one replica under as many calls as it takes. Providers serve HTTP/2, whose calls
// share a connection; with HTTP/1.1 each call that runs has one of its own.
func locks(ctx context.Context, s *system, to *section) error {
	keys, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		name     string
		settings []string
	}{
		{"HTTP/2 to the provider", []string{"OPENAI_BASE_URL=https://" + s.secure, "SSL_CERT_FILE=" + s.certificate()}},
		{"HTTP/1.1 to the provider", nil},
	} {
		if err := s.waits(ctx, to, of.name, keys, of.settings); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	return s.steps(ctx, to, keys[0])
}

// waits profiles a replica.
func (s *system) waits(ctx context.Context, to *section, name string, keys, settings []string) error {
	port, err := child.FreePort()
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + port
	if err := s.run(ctx, 1, append(settings, locksVariable+"="+address)...); err != nil {
		return err
	}
	before := map[string]profile{}
	for _, kind := range lockProfiles() {
		if before[kind], err = readProfile("http://" + address + "/" + kind); err != nil {
			return err
		}
	}
	f, err := s.measure(ctx, load{keys: keys, callers: callers, window: s.window})
	if err != nil {
		return err
	}
	calls := float64(f.calls) * (f.elapsed + s.warmUp()).Seconds() / f.elapsed.Seconds() // those of the warm-up are in the profile
	for _, kind := range lockProfiles() {
		after, err := readProfile("http://" + address + "/" + kind)
		if err != nil {
			return err
		}
		t := to.add(fmt.Sprintf("%s, %d calls at once, %.0f calls a second, the median call takes %.1f ms. %s",
			name, callers, f.rate(), f.quantile(0.5), profileTitle(kind)), "where", "waits a 1,000 calls", "µs of waiting a call")
		t.longest(after.since(before[kind]), kind, calls)
	}
	return nil
}

// longest adds the longest waits.
func (t *table) longest(waits []wait, kind string, calls float64) {
	const most = 6
	shown, count, seconds := 0, 0.0, 0.0
	for _, w := range waits {
		if kind == blockProfile && !w.lock {
			continue
		}
		count, seconds = count+w.count, seconds+w.seconds
		if shown++; shown <= most {
			t.row("`"+w.where+"`", 1000*w.count/calls, w.seconds*1e6/calls)
		}
	}
	t.row("all", 1000*count/calls, seconds*1e6/calls)
}

const (
	mutexProfile = "mutex"
	blockProfile = "block"
)

func lockProfiles() []string { return []string{mutexProfile, blockProfile} }

func profileTitle(kind string) string {
	if kind == mutexProfile {
		return "Mutexes that another goroutine wanted, by who held them; the runtime's own locks included:"
	}
	return "Waits for mutexes, by who waited:"
}

// wait is what goroutines waited at one place of the program.
type wait struct {
	where   string
	lock    bool // for a mutex, not for a message or a timer
	count   float64
	seconds float64
}

// waitsAt is a place, where goroutines may wait for a mutex and for something else.
type waitsAt struct {
	where string
	lock  bool
}

// profile is the waits by place.
type profile map[waitsAt]wait

func readProfile(address string) (profile, error) {
	client := &http.Client{Timeout: 20 * time.Second}
	resp, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return parseProfile(string(text))
}

var (
	profileRate  = regexp.MustCompile(`(?m)^cycles/second=(\d+)$`)
	profileEntry = regexp.MustCompile(`^(\d+) (\d+) @`)
	profileFrame = regexp.MustCompile(`^#\t0x[0-9a-f]+\t(\S+)\+0x[0-9a-f]+\t`)
)

// parseProfile reads the text form of the profiles of mutexes and blocking.
func parseProfile(text string) (profile, error) {
	rate := profileRate.FindStringSubmatch(text)
	if rate == nil {
		return nil, fmt.Errorf("a profile without cycles a second: %.200s", text)
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	if err != nil {
		return nil, err
	}
	all := profile{}
	var entry wait
	var frames []string
	end := func() {
		if len(frames) > 0 {
			entry.where, entry.lock = place(frames)
			at := waitsAt{entry.where, entry.lock}
			sum := all[at]
			entry.count, entry.seconds = entry.count+sum.count, entry.seconds+sum.seconds
			all[at] = entry
		}
		entry, frames = wait{}, nil
	}
	for line := range strings.Lines(text) {
		if m := profileEntry.FindStringSubmatch(line); m != nil {
			end()
			cycles, _ := strconv.ParseFloat(m[1], 64) // the pattern lets only digits in
			entry.count, _ = strconv.ParseFloat(m[2], 64)
			entry.seconds = cycles / perSecond
		} else if m := profileFrame.FindStringSubmatch(line); m != nil {
			frames = append(frames, m[1])
		}
	}
	end()
	return all, nil
}

// place names a stack by its first function that is not of the packages sync and runtime, and
// by the first of the gateway above that.
func place(frames []string) (where string, lock bool) {
	lock = strings.HasPrefix(frames[0], "sync.(*Mutex)") || strings.HasPrefix(frames[0], "sync.(*RWMutex)")
	for _, frame := range frames {
		waiting := strings.HasPrefix(frame, "sync.") || strings.HasPrefix(frame, "runtime.") || strings.HasPrefix(frame, "internal/sync.")
		if where == "" && !waiting {
			where = frame
		}
		if name, ours := strings.CutPrefix(frame, "modelgateway/"); ours {
			if where == frame {
				return name, lock
			}
			return where + " of " + name, lock
		}
	}
	return cmp.Or(where, frames[0]), lock
}

// since is what was waited since a profile before, the longest first.
func (p profile) since(before profile) (waits []wait) {
	for at, w := range p {
		w.count -= before[at].count
		w.seconds -= before[at].seconds
		if w.count > 0 {
			waits = append(waits, w)
		}
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(b.seconds, a.seconds) })
	return waits
}
