package main

import (
	"context"
	"time"

	"modelgateway/tools/rig"
)

// idle measures what replicas use that nothing calls, and what they use when each is called
// so rarely that only their polls cost anything.
func idle(ctx context.Context, s *system, to *rig.Section) error {
	keys, err := s.firstKeys(ctx)
	if err != nil {
		return err
	}
	t := to.Table("", "replicas", "calls", "PostgreSQL transactions/s", "Redis commands/s", "gateways ms/s", "PostgreSQL ms/s", "Redis ms/s")
	settle := 15 * time.Second
	if s.quick {
		settle = time.Second
	}
	for _, replicas := range s.options.replicas {
		if err := s.run(ctx, replicas); err != nil {
			return err
		}
		if err := s.touch(ctx, keys[:1]); err != nil {
			return err
		}
		if err := rig.Sleep(ctx, settle); err != nil {
			return err
		}
		before, err := s.usage(ctx)
		if err != nil {
			return err
		}
		if err := rig.Sleep(ctx, 3*s.window); err != nil {
			return err
		}
		after, err := s.usage(ctx)
		if err != nil {
			return err
		}
		poll(t, replicas, "none", after.sub(before), after.at.Sub(before.at))
		f, err := s.measure(ctx, keys, 2*replicas, 2*s.window)
		if err != nil {
			return err
		}
		poll(t, replicas, "2/s each", f.used, f.Elapsed)
	}
	return nil
}

// poll adds a row of what was used in some time.
func poll(t *rig.Table, replicas int, calls string, u usage, took time.Duration) {
	perSecond := func(d time.Duration) float64 { return 1000 * d.Seconds() / took.Seconds() }
	t.Row(replicas, calls, float64(u.transactions)/took.Seconds(), float64(u.commands)/took.Seconds(),
		perSecond(u.gateway), perSecond(u.postgres), perSecond(u.redis))
}
