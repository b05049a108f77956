package idp

import (
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
	"modelgateway/tests/servertest"
)

func TestStateOfAnotherBrowserIsRefused(t *testing.T) {
	r := newRig(t)
	mine, other := r.begin(), r.begin()
	back, others := r.consent(mine), r.consent(other)
	with := func(name string, values ...string) url.Values {
		q := url.Values{"code": back["code"], "state": back["state"]}
		if delete(q, name); len(values) > 0 {
			q[name] = values
		}
		return q
	}
	state := back.Get("state")
	rows := []struct {
		name   string
		query  url.Values
		cookie string
	}{
		{"missing state", with("state"), mine.cookie},
		{"empty state", with("state", ""), mine.cookie},
		{"attacker's state", with("state", "fixed-by-the-attacker"), mine.cookie},
		{"another login's state", with("state", others.Get("state")), mine.cookie},
		{"state twice", with("state", state, state), mine.cookie},
		{"half of the state", with("state", state[:20]), mine.cookie},
		{"other browser's cookie", back, other.cookie},
		{"whole callback of another login", others, mine.cookie},
		{"no cookie", back, ""},
		{"garbage cookie", back, "garbage"},
		{"not base64", back, "§§§"},
		{"cookie cut short", back, mine.cookie[:len(mine.cookie)-4]},
		{"cookie with a bit changed", back, flip(mine.cookie)},
		{"cookie with more behind it", back, mine.cookie + "AAAA"},
		{"cookie with a line end", back, mine.cookie + "\n"},
		{"huge cookie", back, strings.Repeat("A", 1<<20)},
		{"no code", with("code"), mine.cookie},
		{"empty code", with("code", ""), mine.cookie},
		{"code twice", with("code", "one", "two"), mine.cookie},
		{"nothing at all", url.Values{}, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			token, err := r.Finish(t.Context(), row.query, row.cookie, audit.Entry{})
			(&rig{t: t}).refuses(token, err, 400, "invalid_state")
		})
	}
	if r.idp.Count("/token") != 0 {
		t.Error("a code was exchanged")
	}
	r.noUser()
	if _, err := r.Finish(t.Context(), back, mine.cookie, audit.Entry{}); err != nil {
		t.Error("none of these uses up the login itself: ", err)
	}
}

func flip(text string) string {
	at := len(text) / 2
	if text[at] == 'A' {
		return text[:at] + "B" + text[at+1:]
	}
	return text[:at] + "A" + text[at+1:]
}

func TestReplayedStateIsRefused(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	back := r.consent(b)
	if _, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
	back.Set("code", "another code of the attacker")
	token, err = r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
	if r.idp.Count("/token") != 1 {
		t.Error("a code was exchanged again")
	}
}

func TestFailedLoginUsesUpItsState(t *testing.T) {
	r := newRig(t)
	b := r.begin()
	back := r.consent(b)
	wrong := url.Values{"state": back["state"], "code": {"injected"}}
	token, err := r.Finish(t.Context(), wrong, b.cookie, audit.Entry{})
	r.refuses(token, err, 401, "idp_rejected")
	token, err = r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
}

func TestExpiredStateIsRefused(t *testing.T) {
	now := time.Now()
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return now } })
	for _, row := range []struct {
		passed time.Duration
		fresh  bool
	}{{9*time.Minute + 58*time.Second, true}, {10 * time.Minute, false}, {24 * time.Hour, false}, {-2 * time.Minute, false}} {
		b := r.begin()
		began := now
		now = now.Add(row.passed)
		if _, err := r.open(b.cookie); (err == nil) != row.fresh {
			t.Errorf("after %v: %v", row.passed, err)
		}
		now = began
	}
	b := r.begin()
	back := r.consent(b)
	now = now.Add(11 * time.Minute)
	token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
}

func TestOneOfManyCallbacksAtOnceUsesTheState(t *testing.T) {
	address := servertest.Redis(t)
	store := openStore(t, servertest.Postgres(t))
	m := idptest.Serve(t)
	var replicas []*rig
	for range 2 {
		client, err := models.OpenRedis(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		replicas = append(replicas, newRigOn(t, m, store, func(o *Options) { o.Redis = client }))
	}
	b := replicas[0].begin()
	back := replicas[0].consent(b)
	var all sync.WaitGroup
	var through atomic.Int64
	for i := range 40 {
		all.Go(func() {
			if _, err := replicas[i%2].resume(t.Context(), back, b.cookie); err == nil {
				through.Add(1)
			}
		})
	}
	all.Wait()
	if through.Load() != 1 {
		t.Errorf("%d got through", through.Load())
	}
}

func TestLoginGoesFromReplicaToReplica(t *testing.T) {
	address := servertest.Redis(t)
	client, err := models.OpenRedis(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	shared := func(o *Options) { o.Redis = client }
	one := newRig(t, shared)
	two := newRigOn(t, one.idp, one.store, shared)
	b := one.begin()
	back := one.consent(b)
	token, err := two.Finish(t.Context(), back, b.cookie, audit.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	one.userOf(token)
	token, err = one.Finish(t.Context(), back, b.cookie, audit.Entry{})
	one.refuses(token, err, 400, "invalid_state")
}

func TestStateIsUsedOnceAlsoWithoutRedis(t *testing.T) {
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, DialTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { _ = gone.Close() })
	r := newRig(t, func(o *Options) { o.Redis = gone })
	b := r.begin()
	back := r.consent(b)
	if _, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{}); err != nil {
		t.Fatal("a Redis that is gone ends logins: ", err)
	}
	token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
}

func TestUsedStatesAreRemovedInTime(t *testing.T) {
	now := time.Now()
	u := newUsedStates(nil, func() time.Time { return now })
	for i := range 100 {
		u.first(t.Context(), secret{byte(i)}, now.Add(CookieMaxAge))
	}
	now = now.Add(CookieMaxAge + clockSkew + time.Second)
	if !u.first(t.Context(), secret{200}, now.Add(CookieMaxAge)) || len(u.states) != 1 {
		t.Errorf("%d are kept", len(u.states))
	}
}
