package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"modelgateway/bench/proc"
)

const (
	floorName   = "floor"
	tunedName   = "tuned floor"
	gatewayName = "gateway"
	warmUp      = time.Second
)

// bench is one run of the benchmark.
type bench struct {
	options
	ctx      context.Context // ends with Ctrl-C
	dir      string
	client   *http.Transport
	upstream *process
	floor    *process
	tuned    *process
	gateway  *gateway
	targets  []target // the floor, the gateway, the peers
	started  int      // gateways so far
	report   report
}

// newBench starts what the measurements need.
func newBench(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o, ctx: ctx, client: newTransport()}
	b.report = report{Conditions: describe(o), Errors: map[string]fault{}}
	if err := b.start(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) start() error {
	var err error
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	if b.options.gateway, err = b.binary(); err != nil {
		return err
	}
	if b.upstream, err = startRole(roleUpstream, b.options.upstream); err != nil {
		return err
	}
	if b.floor, err = startRole(roleFloor, "http://"+b.upstream.addr); err != nil {
		return err
	}
	if b.tuned, err = startRole(roleTuned, "http://"+b.upstream.addr); err != nil {
		return err
	}
	var keys []string
	if b.gateway, keys, err = b.newGateway(1, 0); err != nil {
		return err
	}
	b.targets = []target{
		{name: floorName, base: "http://" + b.floor.addr, pid: b.floor.PID},
		b.gateway.target(keys),
		{name: tunedName, base: "http://" + b.tuned.addr, pid: b.tuned.PID},
	}
	for _, peer := range b.peers {
		t, err := peerTarget(peer)
		if err != nil {
			return err
		}
		b.targets = append(b.targets, t)
	}
	return nil
}

// binary is the gateway to measure, as an absolute path.
func (b *bench) binary() (string, error) {
	if b.options.gateway != "" {
		return filepath.Abs(b.options.gateway)
	}
	path := filepath.Join(b.dir, "modelgateway")
	// As make build does.
	build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, said)
	}
	return path, nil
}

// newGateway starts a gateway on an empty database and makes keys. Without keys
// it has not served any request yet.
func (b *bench) newGateway(keys, models int) (*gateway, []string, error) {
	b.started++
	g, err := startGateway(b.ctx, gatewayOptions{
		binary: b.options.gateway, upstream: b.upstream.addr,
		dir: filepath.Join(b.dir, fmt.Sprintf("gateway-%d", b.started)), extraModels: models,
	})
	if err != nil {
		return nil, nil, err
	}
	made, err := g.keys(b.ctx, keys)
	if err != nil {
		g.stop()
		return nil, nil, err
	}
	return g, made, nil
}

func (g *gateway) target(keys []string) target {
	return target{name: gatewayName, base: "http://" + g.addr, pid: g.PID, keys: keys}
}

// peerTarget reads name=url.
func peerTarget(peer string) (target, error) {
	name, base, ok := strings.Cut(peer, "=")
	at, err := url.Parse(base)
	if !ok || err != nil || at.Host == "" || name == floorName || name == tunedName || name == gatewayName {
		return target{}, fmt.Errorf("peer %q is not name=url", peer)
	}
	t := target{name: name, base: strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1"), model: os.Getenv("PEER_MODEL")}
	if key := os.Getenv("PEER_KEY"); key != "" {
		t.keys = []string{key}
	}
	if host := at.Hostname(); host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" {
		t.pid = proc.Listener(at.Port())
	}
	return t, nil
}

// close ends everything that was started here.
func (b *bench) close() {
	if b.gateway != nil {
		b.gateway.stop()
	}
	b.floor.stop()
	b.tuned.stop()
	b.upstream.stop()
	if b.dir != "" {
		_ = os.RemoveAll(b.dir) // a temporary directory may stay
	}
}

// measure runs the parts in their order.
func (b *bench) measure() error {
	for _, part := range []func() error{b.loops, b.rates, b.starts, b.memory, b.growth, b.cancels} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) wants(scenario string) bool { return b.only.MatchString(scenario) }

// inTurn is the targets in the order of a round. The first target changes, so
// that none always runs with the machine in the same state.
func (b *bench) inTurn(round int) []target {
	order := slices.Clone(b.targets)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// judged is the targets that have rows.
func (b *bench) judged() []target { return b.targets[1:] }

// hasGoals reports whether the goals are set for a target.
func (t target) hasGoals() bool { return t.name != tunedName }

// load measures one job against one target. Without a successful call the
// figures are empty, and the fault is recorded.
func (b *bench) load(t target, j job, conns int) figures {
	var bad faults
	c := newCaller(b.client, t, j)
	before := b.otherLoad(t)
	f, err := closedLoop(b.ctx, c, t, loopOptions{conns: conns, warm: warmUp, window: b.window}, &bad)
	if after := b.otherLoad(t); before.known && after.known {
		share := float64(after.busy-before.busy) / float64(after.at.Sub(before.at)) / float64(runtime.NumCPU())
		b.report.Conditions.Others = append(b.report.Conditions.Others, max(0, share))
	}
	b.settle(t.name+", "+j.String(), &bad, err)
	return f
}

// otherLoad is how long processes that are no part of the measurement have used
// the processors so far.
type otherLoad struct {
	busy  time.Duration
	at    time.Time
	known bool
}

func (b *bench) otherLoad(t target) otherLoad {
	busy, err := proc.BusyTime()
	s := otherLoad{busy: busy, at: time.Now(), known: err == nil}
	for _, pid := range []int{os.Getpid(), b.upstream.PID, t.pid} {
		own, err := proc.CPUTime(pid)
		s.busy -= own
		s.known = s.known && err == nil
	}
	return s
}

// settle records the failures of a measurement; err is why there is none. An
// aborted run records nothing.
func (b *bench) settle(where string, bad *faults, err error) {
	if b.ctx.Err() != nil {
		return
	}
	if err != nil && bad.total() == 0 {
		bad.add(err)
	}
	n := bad.total()
	if n == 0 {
		return
	}
	f := b.report.Errors[where]
	if f.Count == 0 {
		f.Messages = bad.messages
	}
	f.Count += n
	b.report.Errors[where] = f
}

func (b *bench) add(r row) { b.report.Rows = append(b.report.Rows, r) }

// say reports the progress of the run on standard error.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// newRound empties the access log, so that a run does not fill the disk.
func (b *bench) newRound() {
	if err := os.Truncate(b.gateway.log, 0); err != nil {
		b.say("access log: %v", err)
	}
}
