package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"modelgateway/bench/proc"
)

const (
	liveStreams   = 2000
	settledAfter  = 2000  // streams, for what fills up once
	shortStreams  = 10000 // streams, to see whether memory still grows
	startAttempts = 5
)

// subject is a fresh process whose memory is measured.
type subject struct {
	target
	stop func()
}

// fresh starts a floor or a gateway that has not served any request.
func (b *bench) fresh(name string) (subject, error) {
	if name == floorName {
		p, err := startRole(roleFloor, "http://"+b.upstream.addr)
		if err != nil {
			return subject{}, err
		}
		return subject{target{name: floorName, base: "http://" + p.addr, pid: p.PID}, p.stop}, nil
	}
	g, keys, err := b.newGateway(1, 0)
	if err != nil {
		return subject{}, err
	}
	return subject{g.target(keys), g.stop}, nil
}

// starts measures how long the gateway takes to be ready on an empty database,
// and its memory a second later.
func (b *bench) starts() error {
	if !b.wants("start") && !b.wants("memory-idle") {
		return nil
	}
	var ready, idle []float64
	for range startAttempts {
		g, _, err := b.newGateway(0, 0)
		if err != nil {
			return err
		}
		err = sleep(b.ctx, time.Second)
		rss, failed := proc.ResidentMemory(g.PID)
		g.stop()
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		ready, idle = append(ready, g.ready.Seconds()), append(idle, rss/1024)
	}
	start := row{Scenario: "start", Unit: "s until ready", Target: gatewayName, Value: ready}
	start.judge(median(ready) <= 0.3, "≤ 0.3 s")
	b.add(start)
	memory := row{Scenario: "memory-idle", Unit: "MiB", Target: gatewayName, Value: idle}
	memory.judge(median(idle) <= 30, "≤ 30 MiB")
	b.add(memory)
	return nil
}

// memory measures the memory of live streams, and whether ended streams leak
// any.
func (b *bench) memory() error {
	if b.wants("memory-live") {
		if err := b.compare("memory-live", "KiB per live stream", b.live, func(r *row) { r.atMost(1.2) }); err != nil {
			return err
		}
	}
	if b.wants("memory-after") {
		const flat = 1.1
		return b.compare("memory-after", "RSS after 10,000 / 2,000 streams", b.grown, func(r *row) {
			r.judge(median(r.Value) <= flat, fmt.Sprintf("≤ %.2g", flat))
		})
	}
	return nil
}

// compare measures something once on a fresh floor and a fresh gateway.
func (b *bench) compare(name, unit string, measure func(target) (float64, error), judge func(*row)) error {
	r := row{Scenario: name, Unit: unit, Target: gatewayName}
	for _, of := range []struct {
		name string
		to   *[]float64
	}{{floorName, &r.Floor}, {gatewayName, &r.Value}} {
		s, err := b.fresh(of.name)
		if err != nil {
			return err
		}
		value, err := measure(s.target)
		s.stop()
		b.client.CloseIdleConnections()
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, of.name, err)
		}
		b.say("%-33s %-8s %8.2f %s", name, of.name, value, unit)
		*of.to = append(*of.to, value)
	}
	r.Ratio = ratios(r.Value, r.Floor)
	judge(&r)
	b.add(r)
	return nil
}

// live is the memory of a target for each of many open streams.
func (b *bench) live(t target) (float64, error) {
	var bad faults
	if err := b.exactly(t, 100, &bad); err != nil {
		return 0, err
	}
	before, err := proc.ResidentMemory(t.pid)
	if err != nil {
		return 0, err
	}
	held, err := b.hold(t, liveStreams, &bad)
	if err == nil {
		err = sleep(b.ctx, time.Second)
	}
	with, failed := proc.ResidentMemory(t.pid)
	if files, err := proc.OpenFiles(t.pid); err == nil {
		b.say("%-33s %-8s %8.0f MiB and %d files with %d streams", "memory-live", t.name, with/1024, files, liveStreams)
	}
	if released := held.release(); err == nil {
		err = released
	}
	b.settle(t.name+", live streams", &bad, nil)
	return (with - before) / liveStreams, errors.Join(err, failed)
}

// grown is the memory after many streams as a multiple of that after fewer.
func (b *bench) grown(t target) (float64, error) {
	var bad faults
	if err := b.exactly(t, settledAfter, &bad); err != nil {
		return 0, err
	}
	before, err := proc.ResidentMemory(t.pid)
	if err != nil {
		return 0, err
	}
	if err := b.exactly(t, shortStreams-settledAfter, &bad); err != nil {
		return 0, err
	}
	after, err := proc.ResidentMemory(t.pid)
	b.say("%-33s %-8s %8.1f MiB, then %.1f MiB", "memory-after", t.name, before/1024, after/1024)
	b.settle(t.name+", short streams", &bad, nil)
	return after / before, err
}

// exactly makes n short streams, 64 at a time.
func (b *bench) exactly(t target, n int, bad *faults) error {
	c := newCaller(b.client, t, job{model: openAIModel, prompt: prompt(200), stream: true})
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	close(left)
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			check := newChecker(readBuffer)
			for range left {
				if b.ctx.Err() != nil || bad.total() >= tooManyFaults {
					return
				}
				if err := c.call(b.ctx, check, nil); err != nil {
					bad.add(err)
				}
			}
		})
	}
	workers.Wait()
	return b.ctx.Err()
}
