package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"modelgateway/tests/servertest"
	"modelgateway/tools/rig"
)

// system is what is measured: gateways on one PostgreSQL and one Redis, and the upstream
// that they call.
type system struct {
	options
	dir             string
	postgres, redis *servertest.Server
	upstream        *rig.Process
	replicas        []*rig.Gateway
	secret          string   // that signs logins
	few             []string // keys of a user: see firstKeys

	admin     *pgx.Conn     // reads what PostgreSQL counts
	commander *redis.Client // reads what Redis counts
	caller    *rig.Caller
	repeated  atomic.Int64 // calls that a replica could not answer at the moment
}

// request is every call.
var request = rig.Job{
	Model:  rig.OpenAIModel,
	Prompt: "What does a gateway between applications and providers of models do? Answer in one sentence, please.",
}

// postgresSettings are those of a small server that keeps what it commits.
func postgresSettings() []servertest.Setting {
	return []servertest.Setting{servertest.Durable, "shared_buffers=512MB", "max_wal_size=2GB", "maintenance_work_mem=512MB"}
}

// newSystem starts all but the gateways. The caller closes the system also after an error.
func newSystem(ctx context.Context, o options) (s *system, err error) {
	s = &system{options: o, secret: rand.Text() + rand.Text(), caller: rig.NewCaller(rig.NewTransport(), request)}
	if s.dir, err = os.MkdirTemp("", "scale-"); err != nil {
		return s, err
	}
	if s.gateway, err = rig.Build(ctx, s.gateway, s.dir); err != nil {
		return s, err
	}
	if s.postgres, err = servertest.NewPostgres(postgresSettings()...); err != nil {
		return s, err
	}
	if s.redis, err = servertest.NewRedis("appendonly=no"); err != nil {
		return s, err
	}
	if s.postgres.PID() == 0 || s.redis.PID() == 0 {
		return s, errors.New("PostgreSQL and Redis have to be programs of this machine: the processor time of a container is not seen")
	}
	if s.upstream, err = rig.StartUpstream(""); err != nil {
		return s, err
	}
	to, err := redis.ParseURL(s.redis.URL)
	if err != nil {
		return s, err
	}
	s.commander = redis.NewClient(to)
	s.admin, err = pgx.Connect(ctx, s.postgres.URL)
	return s, err
}

// close ends all that newSystem and run have started.
func (s *system) close() {
	s.stopReplicas()
	s.upstream.Kill()
	if s.admin != nil {
		_ = s.admin.Close(context.Background()) // its server ends
	}
	if s.commander != nil {
		_ = s.commander.Close()
	}
	for _, server := range []*servertest.Server{s.postgres, s.redis} {
		if server != nil {
			if err := server.Remove(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	_ = os.RemoveAll(s.dir)
}

// run ends the replicas that are running and starts n others. More are further settings.
func (s *system) run(ctx context.Context, n int, more ...string) error {
	s.stopReplicas()
	for range n {
		g, err := rig.StartGateway(ctx, rig.Options{
			Binary: s.gateway, Dir: filepath.Join(s.dir, "replicas"), Upstream: s.upstream.Addr,
			Settings: append([]string{
				"DATABASE_URL=" + s.postgres.URL, "REDIS_URL=" + s.redis.URL, "JWT_SECRET=" + s.secret, "SHUTDOWN_GRACE_SECONDS=5",
			}, more...),
		})
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, g)
	}
	return nil
}

func (s *system) stopReplicas() {
	for _, g := range s.replicas {
		g.Stop()
	}
	s.replicas = nil
}

// fewKeys is how many keys make the calls where their number is not what is measured.
const fewKeys = 10

// firstKeys are a few keys of a user.
func (s *system) firstKeys(ctx context.Context) (keys []string, err error) {
	if len(s.few) == 0 {
		if err := s.run(ctx, 1); err != nil {
			return nil, err
		}
		s.few, err = s.replicas[0].Keys(ctx, fewKeys)
	}
	return s.few, err
}

// figures are the results of a load in its window.
type figures struct {
	rig.Result
	used usage
}

// perCall is a part of the processor time in microseconds a call.
func (f figures) perCall(part time.Duration) float64 {
	return float64(part.Microseconds()) / float64(f.Calls)
}

// share is a part of the time of all processors.
func (f figures) share(part time.Duration) float64 {
	return part.Seconds() / (f.used.machine + f.used.idle).Seconds()
}

const (
	callers       = 64 // calls of a load that may run at once
	asManyAsCanBe = 0  // calls a second
)

// measure makes calls with random keys of these on all replicas in turn, at a rate and for a
// window. One failed call fails it.
func (s *system) measure(ctx context.Context, keys []string, rate int, window time.Duration) (f figures, err error) {
	var faults rig.Faults
	var ends [2]usage
	n := 0
	warm := time.Second // connections are made and keys cached in it
	if s.quick {
		warm /= 5
	}
	f.Result, err = rig.Load{
		Callers: callers, Rate: rate, Warm: warm, Window: window, Faults: &faults,
		Call: func(ctx context.Context, n int64) error {
			return s.call(ctx, s.replicas[int(n)%len(s.replicas)], keys[mathrand.IntN(len(keys))])
		},
		Read: func() (err error) {
			ends[n], err = s.usage(ctx)
			n++
			return err
		},
	}.Run(ctx)
	if faults.Total() > 0 {
		err = errors.Join(err, errors.New(faults.String()))
	}
	f.used = ends[1].sub(ends[0])
	return f, err
}

// call makes one call on a replica. A machine that is busy with something else may keep a
// replica from its database for too long: then the call is repeated, as the answer says, and
// counted.
func (s *system) call(ctx context.Context, at *rig.Gateway, key string) error {
	for end := time.Now().Add(10 * time.Second); ; {
		err := s.caller.Call(ctx, at.Addr, key, nil)
		if statusOf(err) != http.StatusServiceUnavailable || time.Now().After(end) {
			return err
		}
		s.repeated.Add(1)
		if err := rig.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// statusOf is the status of an answer; 0: there is none.
func statusOf(err error) int {
	var refused *rig.Refusal
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &refused):
		return refused.Status
	}
	return 0
}
