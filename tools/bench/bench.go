package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

const (
	floorName   = "floor"
	gatewayName = "gateway"
	besideName  = "other version"
	warmUp      = time.Second
)

// target is a server that is measured.
type target struct {
	name, addr string
	pid        int // 0: not known
	key        string
	model      string // replaces that of the job, for peers
}

// cpu is what the target has used of the processors so far; -1: not known.
func (t target) cpu() time.Duration {
	used, err := rig.CPUTime(t.pid)
	if t.pid == 0 || err != nil {
		return -1
	}
	return used
}

// bench is one run of the benchmark.
type bench struct {
	options
	ctx      context.Context // ends with Ctrl-C
	dir      string
	client   *http.Transport
	upstream *rig.Process
	running  []*rig.Process // floors and gateways
	targets  []target       // the floor, the gateway, the others
	log      []string       // the access logs of the gateways
	section  *rig.Section
	rows     []row
	others   []float64 // the shares of the machine that went to other processes, one for each loop
	failed   int       // measurements with errors
}

// start starts what all measurements need.
func (b *bench) start() (err error) {
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	if b.gateway, err = rig.Build(b.ctx, b.gateway, b.dir); err != nil {
		return err
	}
	if b.upstream, err = rig.StartUpstream(b.options.upstream); err != nil {
		return err
	}
	t, err := b.newFloor()
	if err != nil {
		return err
	}
	b.targets = append(b.targets, t)
	for _, version := range [][2]string{{gatewayName, b.gateway}, {besideName, b.beside}} {
		if version[1] == "" {
			continue
		}
		if t, err = b.newGateway(version[0], version[1]); err != nil {
			return err
		}
		b.targets = append(b.targets, t)
	}
	for _, peer := range b.peers {
		name, addr, found := strings.Cut(peer, "=")
		if !found {
			return fmt.Errorf("peer %q is not name=host:port", peer)
		}
		b.targets = append(b.targets, target{name: name, addr: addr, key: cmp.Or(os.Getenv("PEER_KEY"), "none"), model: os.Getenv("PEER_MODEL")})
	}
	return nil
}

func (b *bench) newFloor() (target, error) {
	p, err := rig.StartRole(floorName, "http://"+b.upstream.Addr)
	if err != nil {
		return target{}, err
	}
	b.running = append(b.running, p)
	return target{name: floorName, addr: p.Addr, pid: p.PID}, nil
}

// newGateway starts a gateway on an empty database and makes a key.
func (b *bench) newGateway(name, binary string) (target, error) {
	g, err := rig.StartGateway(b.ctx, rig.Options{
		Binary: binary, Upstream: b.upstream.Addr, Dir: filepath.Join(b.dir, fmt.Sprint("gateway-", len(b.running))),
		Settings: rig.Bedrock(b.upstream.Addr),
	})
	if err != nil {
		return target{}, err
	}
	b.running, b.log = append(b.running, g.Process), append(b.log, g.Log)
	keys, err := g.Keys(b.ctx, 1)
	if err != nil {
		return target{}, err
	}
	return target{name: name, addr: g.Addr, pid: g.PID, key: keys[0]}, nil
}

// stop ends a target that was started here.
func (b *bench) stop(t target) {
	i := slices.IndexFunc(b.running, func(p *rig.Process) bool { return p.PID == t.pid })
	b.running[i].Kill()
	b.client.CloseIdleConnections()
}

// close ends everything that was started here.
func (b *bench) close() {
	for _, p := range b.running {
		p.Kill()
	}
	b.upstream.Kill()
	_ = os.RemoveAll(b.dir) // a temporary directory may stay
}

// measure runs the parts in their order.
func (b *bench) measure() error {
	for _, part := range []func() error{b.loops, b.rates, b.starts, b.memory} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) wants(scenario string) bool { return b.only.MatchString(scenario) }

// inTurn is the targets in the order of a round. The first target changes, so that none
// always runs with the machine in the same state.
func (b *bench) inTurn(round int) []target {
	order := slices.Clone(b.targets)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// figures are the results of one window of load.
type figures struct {
	rig.Result
	cpu time.Duration // of the target; -1: not known
}

const tooMany = 100 // failures that end a load

// load keeps as many calls of a job running at a target as given. Without a successful call
// the figures are empty, and the fault is recorded.
func (b *bench) load(t target, j rig.Job, callers int) figures {
	if t.model != "" {
		j.Model = t.model
	}
	c := rig.NewCaller(b.client, j)
	var bad rig.Faults
	var cpu, own, busy, idle [2]time.Duration
	ends := 0
	result, err := rig.Load{
		Callers: callers, Warm: warmUp, Window: b.window, Faults: &bad, Most: tooMany,
		Call: func(ctx context.Context, _ int64) error { return c.Call(ctx, t.addr, t.key, nil) },
		Read: func() (err error) {
			cpu[ends] = t.cpu()
			for _, pid := range []int{os.Getpid(), b.upstream.PID} {
				used, err := rig.CPUTime(pid)
				if err != nil {
					return err
				}
				own[ends] += used
			}
			busy[ends], idle[ends], err = rig.Machine()
			ends++
			return err
		},
	}.Run(b.ctx)
	b.settle(t.name+", "+kindOf(j), &bad, err)
	if err != nil {
		return figures{cpu: -1}
	}
	f := figures{result, -1}
	if cpu[0] >= 0 && cpu[1] >= 0 {
		f.cpu = cpu[1] - cpu[0]
		other := busy[1] - busy[0] - f.cpu - own[1] + own[0]
		b.others = append(b.others, max(0, float64(other)/float64(busy[1]-busy[0]+idle[1]-idle[0])))
	}
	return f
}

// kindOf names a job in messages.
func kindOf(j rig.Job) string {
	kind := "answer"
	if j.Stream {
		kind = "stream"
	}
	return fmt.Sprintf("%s%s of %s, %d × %d bytes", kind, j.API, j.Model, j.Turns+1, len(j.Prompt))
}

// settle records the failures of a measurement; err is why there is none. An aborted run
// records nothing.
func (b *bench) settle(where string, bad *rig.Faults, err error) {
	if b.ctx.Err() != nil {
		return
	}
	if err != nil && bad.Total() == 0 {
		bad.Add(err)
	}
	if bad.Total() > 0 {
		b.failed++
		b.section.Say("%s: %s", where, bad)
	}
}

// say reports the progress of the run on standard error.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// newRound empties the access logs, so that a run does not fill the disk.
func (b *bench) newRound() {
	for _, log := range b.log {
		if err := os.Truncate(log, 0); err != nil {
			b.say("access log: %v", err)
		}
	}
}

// row is one line of the table. It has a figure for each round; one below zero is not known.
type row struct {
	scenario, unit string
	target         string // the gateway, or another
	floor, value   []float64
	ratio          []float64
	goal, met      string
}

// ratios divides round by round, without rounds where a figure is not known.
func ratios(own, base []float64) []float64 {
	var out []float64
	for i := range min(len(own), len(base)) {
		if own[i] >= 0 && base[i] > 0 {
			out = append(out, own[i]/base[i])
		}
	}
	return out
}

// median is the middle of the figures that are known, or the mean of the middle two; below
// zero when there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	sorted = slices.DeleteFunc(sorted, func(v float64) bool { return v < 0 })
	if len(sorted) == 0 {
		return -1
	}
	middle := len(sorted) / 2
	return (sorted[middle] + sorted[(len(sorted)-1)/2]) / 2
}

// judge sets the goal in words and whether it is met.
func (r *row) judge(met bool, goal string) {
	r.goal, r.met = goal, map[bool]string{true: "yes", false: "NO"}[met]
}

// atMost asks for a median ratio of no more than limit.
func (r *row) atMost(limit float64) {
	r.judge(len(r.ratio) > 0 && median(r.ratio) <= limit, fmt.Sprintf("≤ %.4g ×", limit))
}

// atLeast asks for a median ratio of no less than limit.
func (r *row) atLeast(limit float64) {
	r.judge(len(r.ratio) > 0 && median(r.ratio) >= limit, fmt.Sprintf("≥ %.4g ×", limit))
}

// report puts the rows into the section, a table for each target.
func (b *bench) report() {
	tables := map[string]*rig.Table{}
	for _, r := range b.rows {
		if tables[r.target] == nil {
			tables[r.target] = b.section.Table("", "scenario", "unit", "floor", r.target, "ratio: min / median / max", "goal", "met")
		}
		ratio := "–"
		if len(r.ratio) > 0 {
			ratio = fmt.Sprintf("%.2f / %.2f / %.2f", slices.Min(r.ratio), median(r.ratio), slices.Max(r.ratio))
		}
		tables[r.target].Row(r.scenario, r.unit, median(r.floor), median(r.value), ratio, r.goal, r.met)
	}
	b.section.About(fmt.Sprintf("GOMAXPROCS %d", runtime.GOMAXPROCS(0)))
	b.section.About(fmt.Sprintf("%d rounds with windows of %s after %s of warm-up", b.rounds, b.window, warmUp))
	b.section.About("upstream, load generator and target share the machine over loopback")
	if len(b.others) > 0 {
		b.section.About(fmt.Sprintf("other processes took %.0f %% of it in the median, %.0f %% at worst",
			100*median(b.others), 100*slices.Max(b.others)))
	}
}
