package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/longtest"
)

const (
	wrongPassword  = "a wrong password"
	unknownAddress = "an unknown address"
)

// refusals are logins that must all look alike, with whom they are for.
func (d *testService) refusals(t *testing.T) map[string]func() error {
	t.Helper()
	d.register(t, "ada@x.com")
	off := d.register(t, "off@x.com")
	d.exec(t, fmt.Sprintf("UPDATE users SET disabled_at = 1 WHERE id = '%s'", off.ID))
	visitor := &models.User{ID: "visitor", Email: "visitor@x.com", Name: "V"}
	if err := d.store.CreateUserWithIdentity(t.Context(), visitor, &models.Identity{Issuer: "i", Subject: "s", UserID: visitor.ID}); err != nil {
		t.Fatal(err)
	}
	try := func(email, password string) func() error {
		return func() error {
			_, err := d.Login(t.Context(), email, password, "192.0.2.1")
			return err
		}
	}
	return map[string]func() error{
		wrongPassword:               try("ada@x.com", "wrong "+testPassword),
		unknownAddress:              try("eve@x.com", testPassword),
		"a disabled user":           try("off@x.com", testPassword),
		"a user without a password": try("visitor@x.com", testPassword),
		"a malformed address":       try("ada@x@com", testPassword),
	}
}

func TestRefusedLoginsHaveTheSameAnswer(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		all := d.refusals(t)
		want := api.AsError(all[wrongPassword]())
		if want.Status != 401 || want.Type != api.TypeAuthentication || want.Code != api.CodeInvalidCredentials || want.Param != "" {
			t.Fatalf("%+v", want)
		}
		for name, try := range all {
			if got := api.AsError(try()); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		for _, password := range []string{strings.Repeat("x", 73), strings.Repeat("x", 1<<20), "short", "\x00", testPassword + "\x00", testPassword + " "} {
			if _, err := d.Login(t.Context(), "off@x.com", password, "192.0.2.1"); !reflect.DeepEqual(api.AsError(err), want) {
				t.Errorf("%.10q: %v", password, err)
			}
		}
		for field, err := range map[string]error{
			"email":    func() error { _, err := d.Login(t.Context(), "", "", "192.0.2.1"); return err }(),
			"password": func() error { _, err := d.Login(t.Context(), "ada@x.com", "", "192.0.2.1"); return err }(),
		} {
			if e := api.AsError(err); e.Status != 400 || e.Code != api.CodeMissingField || e.Param != field {
				t.Errorf("without %s: %v", field, err)
			}
		}
	})
}

// TestRefusedLoginsTakeTheSameTime compares lowest deciles: what a kind of login
// does more shows in all of its tries, and a busy machine interrupts the longer
// ones. The tries take turns, so that it slows all alike, and have more than one
// round, for it does so only more or less; what leaks does in every round. A login
// that hashes no password takes a hundredth of the time, one with a hash of another
// cost half or twice of it. TIMING=strict is for a machine at rest.
func TestRefusedLoginsTakeTheSameTime(t *testing.T) {
	tries, rounds, most := 5, 8, 0.50
	if longtest.On() {
		tries, rounds, most = 50, 8, 0.25
	}
	if os.Getenv("TIMING") == "strict" {
		tries, rounds, most = 500, 1, 0.05
	}
	eachService(t, func(t *testing.T, d *testService) {
		all := d.refusals(t)
		if strings.HasSuffix(t.Name(), "/postgres") { // where only the look-up could differ
			maps.DeleteFunc(all, func(name string, _ func() error) bool { return name != wrongPassword && name != unknownAddress })
		}
		for range rounds {
			if d.differ(t, all, tries) <= most {
				return
			}
		}
		t.Errorf("the lowest deciles differ by more than %.0f %%", 100*most)
	})
}

// differ is how much longer or shorter the lowest decile of any kind of login is
// than that of a wrong password, as a part of it.
func (d *testService) differ(t *testing.T, all map[string]func() error, tries int) (most float64) {
	t.Helper()
	took := map[string][]float64{}
	for range tries {
		d.clock.at = d.clock.at.Add(failureWindow) // or they would be refused as brute force
		for name, try := range all {
			start := time.Now()
			err := try()
			took[name] = append(took[name], time.Since(start).Seconds())
			if code(err) != api.CodeInvalidCredentials {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	base := lowestDecile(took[wrongPassword])
	for name, times := range took {
		off := lowestDecile(times)/base - 1
		t.Logf("%s: lowest decile %.2f ms, %+.2f %%", name, 1000*lowestDecile(times), 100*off)
		most = max(most, math.Abs(off))
	}
	return most
}

func lowestDecile(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/10]
}

func TestGuessesAreLimitedPerAccount(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		d.register(t, "ada@x.com")
		for _, email := range []string{"ada@x.com", "unknown@x.com"} {
			for i := range mostFailures {
				spelt := []string{email, strings.ToUpper(email), " " + email}[i%3]
				if _, err := d.Login(t.Context(), spelt, "wrong password", "192.0.2.1"); code(err) != api.CodeInvalidCredentials {
					t.Fatalf("%s, guess %d: %v", email, i, err)
				}
			}
			_, err := d.Login(t.Context(), email, testPassword, "192.0.2.1")
			expectWait(t, err, 60)
		}
		d.clock.at = d.clock.at.Add(failureWindow)
		d.login(t, "ada@x.com")
		for range 3 * mostFailures { // a success forgets the failures before it
			if _, err := d.Login(t.Context(), "ada@x.com", "wrong password", "192.0.2.1"); code(err) != api.CodeInvalidCredentials {
				t.Fatal(err)
			}
			d.login(t, "ada@x.com")
		}
	})
}

func TestGuessesAtTheSameTimeAreLimited(t *testing.T) {
	d := sqliteService(t)
	d.register(t, "ada@x.com")
	const crowd = 60
	var all sync.WaitGroup
	results := make(chan string, crowd)
	for range crowd {
		all.Go(func() {
			_, err := d.Login(t.Context(), "ada@x.com", "wrong password", "192.0.2.1")
			results <- code(err)
		})
	}
	all.Wait()
	close(results)
	count := map[string]int{}
	for result := range results {
		count[result]++
	}
	// Two are compared at once, so that one may be beyond the limit.
	if guesses := count[api.CodeInvalidCredentials]; guesses < mostFailures || guesses > mostFailures+1 ||
		guesses+count[api.CodeRateLimitExceeded] != crowd {
		t.Errorf("%v", count)
	}
}

func TestAFloodOfLoginsIsRefusedAtOnce(t *testing.T) {
	d := sqliteService(t)
	if d.hashing.workers.TryAcquire(3) || !d.hashing.workers.TryAcquire(1) {
		t.Error("not one or two hashes at once")
	}
	d.hashing.workers.Release(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const crowd = 200
	var all, surplus sync.WaitGroup
	surplus.Add(crowd - mostWaiting)
	var mu sync.Mutex
	refused, late := 0, longtest.Lateness(t)
	for i := range crowd {
		all.Go(func() {
			start, before := time.Now(), late()
			_, err := d.Login(ctx, fmt.Sprintf("u%d@x.com", i), "wrong password", fmt.Sprint("192.0.2.", i))
			took := time.Since(start)
			if !errors.Is(err, errQueueFull) {
				return // it was hashed, or waited for that
			}
			expectFull(t, err)
			if took > time.Second+late()-before { // a login that waits for the others takes several
				t.Errorf("refused after %v", took)
			}
			mu.Lock()
			defer mu.Unlock()
			if refused++; refused <= crowd-mostWaiting {
				surplus.Done()
			}
			if refused == crowd/2 {
				cancel() // ends the wait of the others
			}
		})
	}
	all.Wait()
	if refused < crowd/2 {
		t.Errorf("%d of %d were refused", refused, crowd)
	}
	d.register(t, "ada@x.com") // the queue is empty again
	d.login(t, "ada@x.com")
}
