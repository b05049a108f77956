package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"modelgateway/tools/rig"
)

// gatewayBinary is the path of the gateway's binary, built once for this test
// process and removed when the process has ended.
func gatewayBinary(t testing.TB) string {
	t.Helper()
	path, err := builtGateway()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builtGateway = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gateway-")
	if err != nil {
		return "", err
	}
	if err := removeAtExit(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if err := readSources(); err != nil {
		return "", err
	}
	return rig.Build(context.Background(), "", dir)
})

// readSources reads every folder of the module, so that go test notices a
// change of the gateway: it caches a result as long as everything that the test
// has read stays the same.
func readSources() error {
	return filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".git") || d.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
}

// removeAtExit starts a shell that reads from this process. It notices the end
// of the process, also when it is killed, and removes the folder.
func removeAtExit(dir string) error {
	stdin, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = stdin.Close() }()
	shell := exec.Command("sh", "-c", `read -r _; rm -rf "$1"`, "sh", dir)
	shell.Dir, shell.Stdin = "/", stdin
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := shell.Start(); err != nil {
		return errors.Join(err, alive.Close())
	}
	held.Store(alive) // the collector would close it
	return shell.Process.Release()
}

var held atomic.Pointer[os.File]

// gateway is a gateway in its own process.
type gateway struct {
	url    string       // "" until it is known
	client *http.Client // with connections to this gateway alone, a minute for a call

	pid  int
	out  *tail
	cmd  *exec.Cmd
	dead chan struct{} // closed when it has ended, err is set by then
	err  error

	asked  atomic.Bool // the test has stopped it: any other end fails the test
	killed bool        // by the test: its log is not shown
}

// startGateway runs the gateway with these settings, and returns when it listens.
func startGateway(t testing.TB, settings ...string) *gateway {
	t.Helper()
	g := launchGateway(t, settings...)
	const limit = time.Minute
	deadline := time.After(limit)
	for {
		if address := g.out.field("listening", "address"); address != "" {
			g.url = "http://" + address
			return g
		}
		select {
		case <-g.out.grown:
		case <-g.dead:
			t.Fatalf("the gateway ended with %v:\n%s", g.err, g.log())
		case <-deadline:
			t.Fatalf("the gateway does not listen after %s:\n%s", limit, g.log())
		}
	}
}

// launchGateway runs the gateway with these settings and does not wait. Its url
// is known only when PORT is among them. It ends with the test at the latest.
func launchGateway(t testing.TB, settings ...string) *gateway {
	t.Helper()
	g := newGateway(t, settings...)
	g.run(t)
	return g
}

// newGateway is a gateway that does not run yet.
func newGateway(t testing.TB, settings ...string) *gateway {
	t.Helper()
	dir := t.TempDir() // without a .env
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	g := &gateway{client: &http.Client{Transport: transport, Timeout: time.Minute}, out: newTail(), dead: make(chan struct{})}
	g.cmd = exec.Command(gatewayBinary(t))
	g.cmd.Dir, g.cmd.SysProcAttr = dir, rig.DieWithParent()
	g.cmd.Stdout, g.cmd.Stderr = g.out, g.out
	// Of two settings with one name the last one counts.
	g.cmd.Env = append([]string{
		"PORT=0", "HOST=127.0.0.1", "LOG_FORMAT=json", "MODEL_DISCOVERY=false", "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0",
		"DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db"),
	}, settings...)
	if port := g.setting("PORT"); port != "0" {
		g.url = "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return g
}

func (g *gateway) run(t testing.TB) {
	t.Helper()
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.pid = g.cmd.Process.Pid
	go func() {
		g.err = g.cmd.Wait()
		close(g.dead)
	}()
	t.Cleanup(func() {
		select {
		case <-g.dead:
			if !g.asked.Load() {
				t.Errorf("the gateway ended by itself: %v", g.err)
			}
		default:
			g.signal(syscall.SIGKILL)
			<-g.dead
		}
		if t.Failed() && !g.killed {
			t.Logf("the log of the gateway %d ends:\n%s", g.pid, g.lastLines())
		}
	})
}

// setting is what the gateway was started with.
func (g *gateway) setting(name string) string {
	for _, s := range slices.Backward(g.cmd.Env) {
		if value, ok := strings.CutPrefix(s, name+"="); ok {
			return value
		}
	}
	return ""
}

// terminate ends the gateway with SIGTERM and waits for its end. A status other
// than 0 and a missing end are errors.
func (g *gateway) terminate() error {
	g.signal(syscall.SIGTERM)
	const longest = 150 * time.Second // the default grace period is two minutes
	return g.wait(longest)
}

// kill ends the gateway with SIGKILL.
func (g *gateway) kill() {
	g.killed = true
	g.signal(syscall.SIGKILL)
	<-g.dead
}

// signal sends a signal that may end the gateway.
func (g *gateway) signal(s syscall.Signal) {
	g.asked.Store(true)
	_ = g.cmd.Process.Signal(s) // it may have ended already
}

// wait waits for the end of the gateway. A missing end is an error; the log
// then has the stacks of all goroutines.
func (g *gateway) wait(limit time.Duration) error {
	g.asked.Store(true)
	select {
	case <-g.dead:
		return g.err
	case <-time.After(limit):
	}
	g.signal(syscall.SIGQUIT)
	select {
	case <-g.dead:
	case <-time.After(30 * time.Second):
		g.kill()
	}
	return fmt.Errorf("it still ran %s later", limit)
}

// ended tells whether the process is gone.
func (g *gateway) ended() bool {
	select {
	case <-g.dead:
		return true
	default:
		return false
	}
}

// metric is the sum over all series of this name.
func (g *gateway) metric(t testing.TB, name string) float64 {
	t.Helper()
	resp, err := g.client.Get(g.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %d %v", resp.StatusCode, err)
	}
	return sumOfSeries(t, string(text), name)
}

// sumOfSeries reads Prometheus's text format, in which the value stands last.
func sumOfSeries(t testing.TB, text, name string) float64 {
	t.Helper()
	sum, found := 0.0, false
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
		if err != nil {
			t.Fatalf("metrics: %q: %v", line, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		t.Fatalf("there is no metric %s", name)
	}
	return sum
}

// descriptors is how many the process has open.
func (g *gateway) descriptors(t testing.TB) int {
	t.Helper()
	n, err := rig.OpenFiles(g.pid)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// resident is how many bytes of memory the process holds, its program included.
func (g *gateway) resident(t testing.TB) int64 { return g.memory(t, "VmRSS") }

// allocated is the memory that the process has written to. The pages of its file, which
// come and go, are not among it.
func (g *gateway) allocated(t testing.TB) int64 { return g.memory(t, "RssAnon") }

// memory is a figure of /proc in bytes.
func (g *gateway) memory(t testing.TB, name string) int64 {
	t.Helper()
	bytes, err := rig.Memory(g.pid, name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// log is what the gateway wrote: the beginning and the end, if it was much.
func (g *gateway) log() string { return g.out.String() }

// lastLines are the end of the log, without the successful requests.
func (g *gateway) lastLines() string {
	var text strings.Builder
	for line := range strings.Lines(g.log()) {
		if !strings.Contains(line, `"level":"INFO","msg":"request"`) {
			text.WriteString(line)
		}
	}
	const enough = 4000
	return text.String()[max(0, text.Len()-enough):]
}

// fixedPort is a free port below those of outgoing connections: a client that
// dials such a port again and again could otherwise be connected to itself.
func fixedPort(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no free port between 10000 and 30000 on 127.0.0.1")
	return ""
}

func TestTheHarnessReadsTheStateOfTheGateway(t *testing.T) {
	g := startGateway(t)
	g.metric(t, "process_open_fds")
	if n := g.descriptors(t); n < 5 || n > 100 {
		t.Errorf("%d descriptors", n)
	}
	if n := g.resident(t); n < 5<<20 || n > 500<<20 {
		t.Errorf("%d bytes resident", n)
	}
	if n := sumOfSeries(t, "a{x=\"1\"} 2\na_b 7\na{x=\"2\"} 3\n# a 9\n", "a"); n != 5 {
		t.Errorf("the sum over two series is %v", n)
	}
	g.kill()
	if g.err == nil || !g.ended() {
		t.Errorf("killed, it ended with %v", g.err)
	}
	port := fixedPort(t)
	g = launchGateway(t, "PORT="+port, "REQUIRE_AUTH=ture")
	if g.url != "http://127.0.0.1:"+port {
		t.Errorf("url is %q", g.url)
	}
	if err := g.wait(20 * time.Second); err == nil || !strings.Contains(g.log(), "REQUIRE_AUTH") {
		t.Errorf("a setting of nonsense: it ended with %v:\n%s", err, g.log())
	}
}
