//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"modelgateway/bench/child"
	"modelgateway/tests/servertest"
)

// system is what is measured: gateways on one PostgreSQL and one Redis, and the provider
// that they call.
type system struct {
	options
	dir             string
	postgres, redis *servertest.Server
	upstream        *process
	secure          string // host and port of the upstream's HTTPS
	replicas        []*process
	secret          string   // that signs logins
	few             []string // keys of a user: see firstKeys

	admin     *pgx.Conn     // reads what PostgreSQL counts
	commander *redis.Client // reads what Redis counts
	transport *http.Transport
	repeated  atomic.Int64 // calls that a replica could not answer at the moment
}

// postgresSettings are those of a small server that keeps what it commits.
func postgresSettings() []servertest.Setting {
	return []servertest.Setting{servertest.Durable, "shared_buffers=512MB", "max_wal_size=2GB", "maintenance_work_mem=512MB"}
}

func newSystem(ctx context.Context, o options) (s *system, err error) {
	s = &system{options: o, secret: rand.Text() + rand.Text()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "scale-"); err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "models.yaml"), []byte(modelsFile), 0o600); err != nil {
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
	if s.upstream, s.secure, err = startUpstream(s.certificate()); err != nil {
		return s, err
	}
	if s.admin, err = pgx.Connect(ctx, s.postgres.URL); err != nil {
		return s, err
	}
	to, err := redis.ParseURL(s.redis.URL)
	if err != nil {
		return s, err
	}
	s.commander = redis.NewClient(to)
	s.transport = &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}
	return s, nil
}

// close ends all that newSystem and run have started.
func (s *system) close() {
	s.stopReplicas()
	s.upstream.stop()
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
		p, err := s.startReplica(more)
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, p)
	}
	for _, p := range s.replicas {
		if err := p.awaitReady(ctx); err != nil {
			said, _ := os.ReadFile(s.log()) // a missing log is not shown
			return fmt.Errorf("gateway: %w: %.1000s", err, said)
		}
	}
	return nil
}

func (s *system) stopReplicas() {
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	for _, p := range s.replicas {
		p.stop()
	}
	s.replicas = nil
}

func (s *system) certificate() string { return filepath.Join(s.dir, "upstream.pem") }

func (s *system) log() string { return filepath.Join(s.dir, "access.log") }

// startReplica starts a gateway as in production: keys are checked, calls are counted
// against a limit that all replicas share, the access log is written to a file.
func (s *system) startReplica(more []string) (*process, error) {
	const host = "127.0.0.1"
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child holds its own
	p, err := startRole(roleGateway, append([]string{
		"HOST=" + host, "PORT=" + port, "HOME=" + s.dir,
		"DATABASE_URL=" + s.postgres.URL, "REDIS_URL=" + s.redis.URL,
		"REQUIRE_AUTH=true", "JWT_SECRET=" + s.secret, "METRICS_TOKEN=" + s.secret,
		"RATE_LIMIT_RPM=1000000", "AUTH_RATE_LIMIT_RPM=0", // counted, and never reached
		"OPENAI_API_KEY=scale", "OPENAI_BASE_URL=http://" + s.upstream.addr,
		"MODEL_DISCOVERY=false", "MODELS_FILE=" + filepath.Join(s.dir, "models.yaml"),
		"LOG_FORMAT=json", "LOG_LEVEL=info", "SHUTDOWN_GRACE_SECONDS=5",
	}, more...), log)
	if err == nil {
		p.addr = net.JoinHostPort(host, port)
	}
	return p, err
}
