package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

// usage is what the parts of a system have used since they started.
type usage struct {
	at                       time.Time
	gateway, postgres, redis time.Duration // processor time, of user and kernel
	provider, load           time.Duration
	machine, idle            time.Duration // of all processors: busy with anything, and with nothing
	transactions, commands   int64         // of PostgreSQL and of Redis
}

func (s *system) usage(ctx context.Context) (u usage, err error) {
	u.at = time.Now()
	for _, p := range s.replicas {
		one, err := rig.CPUTime(p.PID)
		if err != nil {
			return u, err
		}
		u.gateway += one
	}
	for _, of := range []struct {
		pid  int
		read func(pid int) (time.Duration, error)
		into *time.Duration
	}{
		{s.postgres.PID(), rig.TreeTime, &u.postgres}, {s.redis.PID(), rig.TreeTime, &u.redis},
		{s.upstream.PID, rig.CPUTime, &u.provider}, {os.Getpid(), rig.CPUTime, &u.load},
	} {
		if *of.into, err = of.read(of.pid); err != nil {
			return u, err
		}
	}
	if u.machine, u.idle, err = rig.Machine(); err != nil {
		return u, err
	}
	return u, s.count(ctx, &u)
}

// count reads what PostgreSQL and Redis count.
func (s *system) count(ctx context.Context, u *usage) error {
	const counters = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
	err := s.admin.QueryRow(ctx, counters).Scan(&u.transactions)
	if err != nil {
		return err
	}
	text, err := s.commander.Info(ctx, "stats").Result()
	if err != nil {
		return err
	}
	_, rest, found := strings.Cut(text, "total_commands_processed:")
	line, _, _ := strings.Cut(rest, "\r\n")
	if u.commands, err = strconv.ParseInt(line, 10, 64); err != nil || !found {
		return fmt.Errorf("redis has no count of its commands: %w", err)
	}
	return nil
}

// sub is what was used between two readings.
func (u usage) sub(before usage) usage {
	u.gateway -= before.gateway
	u.postgres -= before.postgres
	u.redis -= before.redis
	u.provider -= before.provider
	u.load -= before.load
	u.machine -= before.machine
	u.idle -= before.idle
	u.transactions -= before.transactions
	u.commands -= before.commands
	return u
}

// others is the processor time of processes that are no part of the measurement.
func (u usage) others() time.Duration {
	return max(0, u.machine-u.gateway-u.postgres-u.redis-u.provider-u.load)
}
