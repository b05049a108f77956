package accounts

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// refusedWithin waits until a key is refused with 401, and fails after a second.
func refusedWithin(t *testing.T, p *gatewaytest.Program, key, what string) {
	t.Helper()
	began, late := time.Now(), longtest.Lateness(t)
	gatewaytest.Until(t, what, func() bool {
		return p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key).Status == 401
	})
	if took := time.Since(began); took > time.Second+late() {
		t.Errorf("%s: after %v", what, took)
	}
}

// TestTheCommandLineChangesARunningGateway changes keys and a user beside a running
// server, which uses the key before each change, so that it has it in its cache.
func TestTheCommandLineChangesARunningGateway(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
		p := gatewaytest.Start(t, settings...)
		p.Login(t)
		command := func(args string) string {
			t.Helper()
			return gatewaytest.Command(t, settings, strings.Fields(args)...)
		}
		works := func(key string) {
			t.Helper()
			if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		key := command("key create --user ada@example.com --name laptop --quiet")
		works(key)
		id := command("key list --quiet")
		if table := command("key list --csv"); !strings.HasPrefix(table, "id,") || !strings.Contains(table, "\n"+id+",") {
			t.Errorf("the keys as a table: %s", table)
		}
		if lines := command("user list --jsonl"); strings.Count(lines, "\n") > 1 || !strings.HasPrefix(lines, `{"id":`) {
			t.Errorf("the users in lines: %s", lines)
		}
		second := command("key rotate " + id + " --overlap 1h --quiet")
		works(second)
		works(key)

		command("user disable ada@example.com")
		refusedWithin(t, p, second, "the key of a disabled user is refused")
		command("user enable ada@example.com")
		gatewaytest.Until(t, "the key works again", func() bool {
			return p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key).Status == 200
		})
		command("key limits " + id + " --budget-usd 0")
		gatewaytest.Until(t, "the budget is spent", func() bool {
			return p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key).Status == 402
		})
		command("key revoke " + id)
		refusedWithin(t, p, key, "the former secret of a revoked key is refused")
		refusedWithin(t, p, second, "a revoked key is refused")
		if a := p.Call(t, "GET", "/auth/keys", "", p.Login(t)...); a.Status != 200 || strings.Contains(a.Body, id) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// TestTheCommandLineAndTheServerShareADatabaseUnderLoad runs commands while calls are
// booked: none may fail because the other one writes. Of the calls one in fifty may have to be repeated,
// as its answer says, where the machine is busy.
func TestTheCommandLineAndTheServerShareADatabaseUnderLoad(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
		p := gatewaytest.Start(t, settings...)
		p.Login(t)
		key := gatewaytest.Command(t, settings, "key", "create", "--user", "ada@example.com", "--name", "load", "--budget-usd", "100", "-q")
		done := make(chan struct{})
		var load sync.WaitGroup
		var calls, repeated atomic.Int64
		for range 4 {
			load.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(5 * time.Millisecond):
						calls.Add(1)
						o := gatewaytest.Send(t.Context(), p.Client, p.URL, gatewaytest.HelloRequest, key)
						if o.Status == 503 && o.Header.Get("Retry-After") != "" {
							repeated.Add(1)
						} else if o.Status != 200 {
							t.Errorf("%d %v %s", o.Status, o.Err, o.Body)
							return
						}
					}
				}
			})
		}
		for i := range longtest.Size(8, 20) {
			gatewaytest.Command(t, settings, "key", "create", "--user", "ada@example.com", "--name", fmt.Sprint("n", i), "-q")
			gatewaytest.Command(t, settings, "key", "list")
		}
		close(done)
		load.Wait()
		if repeated.Load() > calls.Load()/50 {
			t.Errorf("%d of %d calls had to be repeated", repeated.Load(), calls.Load())
		}
	})
}
