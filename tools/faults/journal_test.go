package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// journal records what the gateway has acknowledged to the clients of the test.
// A request without an acknowledgement may have been executed or not.
type journal struct {
	mu         sync.Mutex
	users      []*writtenUser
	keys       []*writtenKey
	revoked    int
	unexpected []string // unexpected answers

	lost, revived, unclear int
	retried                int // checks that were repeated after a 503
}

type writtenUser struct {
	email, token string // token: "Bearer …", "" before the login

	live []*writtenKey // the keys that are not revoked
}

type writtenKey struct {
	id, text string
	state    keyState
}

type keyState int

const (
	keyLives    keyState = iota
	keyRevoking          // its revocation was requested, and may have been executed
	keyRevoked           // and acknowledged, or seen
)

// acknowledgements is how many writes there have been.
func (j *journal) acknowledgements() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.users) + len(j.keys) + j.revoked
}

func (j *journal) registered() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.users)
}

// register adds users until stop, at most so many.
func (j *journal) register(g *gateway, name string, most int, stop <-chan struct{}) {
	for i := range most {
		u := &writtenUser{email: fmt.Sprintf("%s.%d@example.com", name, i)}
		a, err := g.call("POST", "/auth/register", registration(u.email))
		if !j.acknowledged(a, err, http.StatusCreated, stop) {
			return
		}
		j.mu.Lock()
		j.users = append(j.users, u)
		j.mu.Unlock()
	}
}

// write creates and revokes keys of a user until stop.
func (j *journal) write(g *gateway, u *writtenUser, stop <-chan struct{}) {
	const few, many = 3, 40 // a user has at most a hundred
	for {
		select {
		case <-stop:
			return
		default:
		}
		if len(u.live) < few || len(u.live) < many && rand.IntN(2) == 0 {
			j.create(g, u, stop)
		} else {
			j.revoke(g, u, stop)
		}
	}
}

func (j *journal) create(g *gateway, u *writtenUser, stop <-chan struct{}) {
	a, err := g.call("POST", "/auth/keys", `{"name":"app"}`, "Authorization", u.token)
	if !j.acknowledged(a, err, http.StatusCreated, stop) {
		return
	}
	k := &writtenKey{id: a.field("id"), text: a.field("key")}
	u.live = append(u.live, k)
	j.mu.Lock()
	j.keys = append(j.keys, k)
	j.mu.Unlock()
}

func (j *journal) revoke(g *gateway, u *writtenUser, stop <-chan struct{}) {
	i := rand.IntN(len(u.live))
	k := u.live[i]
	u.live[i] = u.live[len(u.live)-1]
	u.live = u.live[:len(u.live)-1]
	k.state = keyRevoking
	a, err := g.call("DELETE", "/auth/keys/"+k.id, "", "Authorization", u.token)
	if j.acknowledged(a, err, http.StatusOK, stop) {
		k.state = keyRevoked
		j.mu.Lock()
		j.revoked++
		j.mu.Unlock()
	}
}

// acknowledged reports whether the answer acknowledges the change. An answer
// that an outage does not explain either is unexpected.
func (j *journal) acknowledged(a wholeAnswer, err error, status int, stop <-chan struct{}) bool {
	if err == nil && a.status == status {
		return true
	}
	if err == nil && a.status != http.StatusServiceUnavailable {
		j.note("%d %s", a.status, a.body)
	}
	select { // the gateway may be gone, and each try would fail at once
	case <-stop:
	case <-time.After(5 * time.Millisecond):
	}
	return false
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	const enough = 10
	if len(j.unexpected) < enough {
		j.unexpected = append(j.unexpected, fmt.Sprintf(format, args...))
	}
}

// verify compares the gateway with the journal, from these users and keys on
// and a sample of those before.
func (j *journal) verify(g *gateway, users, keys int) {
	for i, u := range j.users {
		if i >= users || rand.IntN(len(j.users)) < 2 {
			j.verifyUser(g, u)
		}
	}
	work := make(chan *writtenKey)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for k := range work {
				j.verifyKey(g, k)
			}
		})
	}
	for i, k := range j.keys {
		if i >= keys || rand.IntN(len(j.keys)) < 20 {
			work <- k
		}
	}
	close(work)
	all.Wait()
}

// settled repeats a request until the answer is not a 503: a database that has
// just come back may have left dead connections.
func (j *journal) settled(request func() (wholeAnswer, error)) (wholeAnswer, error) {
	const limit = 5 * time.Second
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		a, err := request()
		if err != nil || a.status != http.StatusServiceUnavailable || time.Since(began) > limit {
			return a, err
		}
		j.mu.Lock()
		j.retried++
		j.mu.Unlock()
	}
}

func (j *journal) verifyUser(g *gateway, u *writtenUser) {
	a, err := j.settled(func() (wholeAnswer, error) { return g.call("POST", "/auth/login", credentials(u.email)) })
	switch {
	case err == nil && a.status == http.StatusOK:
		u.token = "Bearer " + a.field("token")
	case err == nil && a.status == http.StatusUnauthorized:
		j.count(&j.lost, "the user %s is lost", u.email)
	default:
		j.count(&j.unclear, "login of %s: %d %s %v %s", u.email, a.status, a.body, err, g.failureLog(a))
	}
}

func (j *journal) verifyKey(g *gateway, k *writtenKey) {
	a, err := j.settled(func() (wholeAnswer, error) { return g.call("GET", "/v1/models", "", "X-API-Key", k.text) })
	opens, refused := err == nil && a.status == http.StatusOK, err == nil && a.status == http.StatusUnauthorized
	switch {
	case !opens && !refused:
		j.count(&j.unclear, "key %s: %d %s %v %s", k.id, a.status, a.body, err, g.failureLog(a))
	case refused && k.state == keyLives:
		j.count(&j.lost, "the key %s is lost", k.id)
	case opens && k.state == keyRevoked:
		j.count(&j.revived, "the revoked key %s opens", k.id)
	case refused:
		k.state = keyRevoked // a revocation that was seen must stay
	}
}

func (j *journal) count(counter *int, format string, args ...any) {
	j.mu.Lock()
	*counter++
	j.mu.Unlock()
	j.note(format, args...)
}

// verdict fails the test if anything was lost, and reports the writes.
func (j *journal) verdict(t testing.TB) string {
	t.Helper()
	if j.lost+j.revived+j.unclear+len(j.unexpected) > 0 {
		t.Errorf("%d lost, %d revived, %d could not be checked", j.lost, j.revived, j.unclear)
		for _, line := range j.unexpected {
			t.Log(line)
		}
	}
	return fmt.Sprintf(
		"%d acknowledged writes (%d users, %d keys, %d revocations): %d lost, %d revived (%d questions met a 503 and were asked again)",
		j.acknowledgements(), len(j.users), len(j.keys), j.revoked, j.lost, j.revived, j.retried,
	)
}
