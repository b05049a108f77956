package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"modelgateway/tools/rig"
)

const (
	liveStreams   = 2000
	startAttempts = 5
)

// starts measures how long the gateway takes to be ready on an empty database, and its
// memory a second later.
func (b *bench) starts() error {
	if !b.wants("start") {
		return nil
	}
	var ready, idle []float64
	for i := range startAttempts {
		dir := filepath.Join(b.dir, fmt.Sprint("start-", i))
		g, err := rig.StartGateway(b.ctx, rig.Options{Binary: b.gateway, Upstream: b.upstream.Addr, Dir: dir})
		if err != nil {
			return err
		}
		err = rig.Sleep(b.ctx, time.Second)
		rss, failed := rig.Memory(g.PID, "VmRSS")
		g.Kill()
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		ready, idle = append(ready, g.Ready.Seconds()), append(idle, float64(rss)/(1<<20))
	}
	start := row{scenario: "start", unit: "s until ready", target: gatewayName, value: ready}
	start.judge(median(ready) <= 0.3, "≤ 0.3 s")
	b.rows = append(b.rows, start, row{scenario: "start", unit: "MiB a second later", target: gatewayName, value: idle})
	return nil
}

// memory measures what an open stream takes, once on a fresh floor and a fresh gateway.
func (b *bench) memory() error {
	const name = "memory-live"
	if !b.wants(name) {
		return nil
	}
	r := row{scenario: name, unit: "KiB per live stream", target: gatewayName}
	for _, of := range []struct {
		start func() (target, error)
		to    *[]float64
	}{{b.newFloor, &r.floor}, {func() (target, error) { return b.newGateway(gatewayName, b.gateway) }, &r.value}} {
		t, err := of.start()
		if err != nil {
			return err
		}
		value, err := b.live(t)
		b.stop(t)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, t.name, err)
		}
		b.say("%-33s %-8s %8.2f %s", name, t.name, value, r.unit)
		*of.to = append(*of.to, value)
	}
	r.ratio = ratios(r.value, r.floor)
	r.atMost(1.2)
	b.rows = append(b.rows, r)
	return nil
}

// live is the memory of a target for each of many streams that pause in their middle.
func (b *bench) live(t target) (kib float64, err error) {
	stream := rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(200), Stream: true}
	plain := rig.NewCaller(b.client, stream)
	stream.Prompt = rig.Prompt(200, rig.WordHold)
	holding := rig.NewCaller(b.client, stream)
	var bad rig.Faults
	_, err = rig.Load{Callers: 64, Window: warmUp, Faults: &bad, Call: func(ctx context.Context, _ int64) error {
		return plain.Call(ctx, t.addr, t.key, nil)
	}}.Run(b.ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, &bad)
	}
	before, err := rig.Memory(t.pid, "VmRSS")
	if err != nil {
		return 0, err
	}
	var held sync.WaitGroup
	begun, opening := make(chan struct{}, liveStreams), make(chan struct{}, 64) // not all at once: that measures the kernel's backlog
	for range liveStreams {
		opening <- struct{}{}
		held.Go(func() {
			open := sync.OnceFunc(func() {
				<-opening
				begun <- struct{}{}
			})
			defer open() // also where it fails
			ctx, cancel := context.WithTimeout(b.ctx, rig.LongestHold)
			defer cancel()
			chunks := 0
			err := holding.Call(ctx, t.addr, t.key, func() {
				if chunks++; chunks == rig.HeldChunks {
					open()
				}
			})
			if err != nil {
				bad.Add(err)
			}
		})
	}
	for range liveStreams {
		<-begun
	}
	err = rig.Sleep(b.ctx, time.Second)
	with, failed := rig.Memory(t.pid, "VmRSS")
	released := b.upstream.ReleaseStreams()
	held.Wait()
	b.settle(t.name+", live streams", &bad, nil)
	return float64(with-before) / 1024 / liveStreams, errors.Join(err, failed, released)
}
