package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// heldStreams is a number of streams that pause in their middle.
type heldStreams struct {
	b    *bench
	bad  *faults
	ends sync.WaitGroup
}

// hold opens n streams to a target, and returns when the first chunks of each
// have arrived. The streams end with release.
func (b *bench) hold(t target, n int, bad *faults) (*heldStreams, error) {
	h := &heldStreams{b: b, bad: bad}
	c := newCaller(b.client, t, job{model: openAIModel, prompt: prompt(200, wordHold), stream: true})
	arrived := make(chan struct{}, n)
	opening := make(chan struct{}, 64) // not all at once: that measures the kernel's backlog
	for range n {
		opening <- struct{}{}
		h.ends.Go(func() { h.one(c, opening, arrived) })
	}
	timeout := time.After(callTimeout)
	for i := range n {
		select {
		case <-arrived:
		case <-b.ctx.Done():
			return h, b.ctx.Err()
		case <-timeout:
			return h, fmt.Errorf("only %d of %d streams have begun", i, n)
		}
	}
	return h, nil
}

// one reads and verifies one stream to its end.
func (h *heldStreams) one(c *caller, opening <-chan struct{}, arrived chan<- struct{}) {
	const small = 4 << 10
	chunks := 0
	began := false
	begin := func() {
		if !began {
			began = true
			<-opening
			arrived <- struct{}{}
		}
	}
	ctx, cancel := context.WithTimeout(h.b.ctx, longestHold)
	defer cancel()
	err := c.call(ctx, newChecker(small), func() {
		chunks++
		if chunks == heldChunks {
			begin()
		}
	})
	if err != nil {
		h.bad.add(err)
	}
	begin() // also when it has failed before
}

// release resumes the streams, and waits until all have ended.
func (h *heldStreams) release() error {
	defer h.ends.Wait()
	resp, err := http.Post("http://"+h.b.upstream.addr+"/release", "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// upstreamCounts reads the counts of the upstream.
func (b *bench) upstreamCounts() (counts, error) {
	var seen counts
	resp, err := http.Get("http://" + b.upstream.addr + "/counts")
	if err != nil {
		return seen, err
	}
	defer func() { _ = resp.Body.Close() }()
	return seen, json.NewDecoder(resp.Body).Decode(&seen)
}

// cancels adds the row on how soon the upstream notices a client that
// disconnects.
func (b *bench) cancels() error {
	const name = "cancel"
	if !b.wants(name) {
		return nil
	}
	took := map[string]float64{}
	for _, t := range b.targets {
		ms, err := b.leave(t)
		if err != nil {
			return err
		}
		took[t.name] = ms
	}
	for _, t := range b.judged() {
		r := row{
			Scenario: name,
			Unit:     "ms until upstream sees it",
			Target:   t.name,
			Floor:    []float64{took[floorName]},
			Value:    []float64{took[t.name]},
		}
		r.judge(took[t.name] >= 0, "within 1 s")
		b.add(r)
	}
	return nil
}

// leave opens a stream, disconnects in its middle, and returns after how many
// milliseconds the upstream has noticed; below zero: not within a second.
func (b *bench) leave(t target) (float64, error) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	c := newCaller(b.client, t, job{model: openAIModel, prompt: prompt(200, wordHold), stream: true})
	arrived, ended := make(chan struct{}, contentChunks), make(chan error, 1)
	go func() { ended <- c.call(ctx, newChecker(readBuffer), func() { arrived <- struct{}{} }) }()
	for range heldChunks {
		select {
		case <-arrived:
		case err := <-ended:
			return 0, fmt.Errorf("%s: the stream has ended: %w", t.name, err)
		}
	}
	before, err := b.upstreamCounts()
	if err != nil {
		return 0, err
	}
	left := time.Now()
	cancel()
	for time.Since(left) < time.Second {
		now, err := b.upstreamCounts()
		if err != nil {
			return 0, err
		}
		if now.Cancelled > before.Cancelled {
			return float64(time.Since(left)) / float64(time.Millisecond), nil
		}
		time.Sleep(time.Millisecond)
	}
	return -1, nil
}
