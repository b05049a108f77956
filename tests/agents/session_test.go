package agents

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// provider is one of those onto which the clients are run.
type provider struct {
	name string
	// model is one of the provider's own.
	model string
	// aliases are a setting of the gateway beside the address and the key of the upstream:
	// Claude Code asks for Claude models, Codex for GPT.
	aliases string
	// overflow is how the provider says that a prompt is too long for its model.
	overflow string
	// picture is in a request with a PNG.
	picture string
}

func providers() []provider {
	return []provider{
		{
			name: "anthropic", model: "claude-opus-5-5", aliases: "MODEL_ALIASES=gpt-*=claude-opus-5-5",
			overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1000500 tokens > 1000000 maximum"}}`,
			picture:  `"media_type":"image/png"`,
		},
		{
			name: "openai", model: "gpt-5", aliases: "MODEL_ALIASES=claude-*=gpt-5",
			overflow: `{"error":{"message":"This model's maximum context length is 272000 tokens. However, your messages resulted in ` +
				`300000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages",` +
				`"code":"context_length_exceeded"}}`,
			picture: `data:image/png;base64,`,
		},
		{
			name: "gemini", model: "gemini-3.5-flash", aliases: "MODEL_ALIASES=claude-*=gemini-3.5-flash;gpt-*=gemini-3.5-flash",
			overflow: `{"error":{"code":400,"message":"The input token count (1300000) exceeds the maximum number of tokens allowed ` +
				`(1048576).","status":"INVALID_ARGUMENT"}}`,
			picture: `"mimeType":"image/png"`,
		},
	}
}

// eachProvider runs a test for every provider, in parallel.
func eachProvider(t *testing.T, test func(t *testing.T, s *session, f provider), faults ...func(f provider) fault) {
	t.Helper()
	folder := needClients(t)
	for _, f := range providers() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var made []fault
			for _, of := range faults {
				made = append(made, of(f))
			}
			test(t, f.start(t, folder, made), f)
		})
	}
}

// session is a gateway with its upstream, and a working directory for a client.
type session struct {
	clients  string // the folder of the installed clients
	upstream *upstream
	program  *gatewaytest.Program
	front    *front
	home     string
	work     string
	database string
	others   elsewhere
}

// start starts a session with a gateway that has no other provider.
func (f provider) start(t *testing.T, clients string, faults []fault, settings ...string) *session {
	t.Helper()
	u, prefix := startUpstream(t, faults...), strings.ToUpper(f.name)
	s := newSession(t, clients, append([]string{prefix + "_API_KEY=sk-upstream", prefix + "_BASE_URL=" + u.url, f.aliases}, settings...)...)
	s.upstream = u
	return s
}

// newSession starts a session with a gateway that has these settings.
func newSession(t *testing.T, clients string, settings ...string) *session {
	t.Helper()
	return startSession(t, clients, func(all ...string) *gatewaytest.Program { return gatewaytest.Start(t, all...) }, settings...)
}

// startSession is newSession with a gateway that start starts.
func startSession(t *testing.T, clients string, start func(settings ...string) *gatewaytest.Program, settings ...string) *session {
	t.Helper()
	s := &session{clients: clients, upstream: &upstream{}, home: t.TempDir(), work: t.TempDir()}
	s.database = filepath.Join(t.TempDir(), "gateway.db")
	s.program = start(append([]string{"DATABASE_URL=sqlite:" + s.database, "MAX_RETRIES=0"}, settings...)...)
	t.Cleanup(func() {
		if log := s.program.Log.String(); t.Failed() {
			t.Logf("the log of the gateway ends:\n%s", log[max(0, len(log)-8<<10):])
		}
	})
	s.front = startFront(t)
	s.front.add(t, s.program.URL)
	s.others.url = gatewaytest.ServeUpstream(t, &s.others)
	return s
}

// front stands between a client and the replicas of the gateway, which it asks in turn, and keeps what went through.
type front struct {
	url      string
	replicas []*url.URL
	asked    atomic.Int64

	mu    sync.Mutex
	calls []exchange
}

// add adds a replica, before the first request.
func (f *front) add(t *testing.T, replica string) {
	t.Helper()
	target, err := url.Parse(replica)
	if err != nil {
		t.Fatal(err)
	}
	f.replicas = append(f.replicas, target)
}

func startFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(f.replicas[int(f.asked.Add(1))%len(f.replicas)])
		r.Out.Host = r.In.Host
	}}
	transport := &http.Transport{} // of its own: servers of other tests close connections of the default one when they end
	t.Cleanup(transport.CloseIdleConnections)
	proxy.Transport = transport
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	proxy.ModifyResponse = func(resp *http.Response) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, exchange{path: resp.Request.URL.RequestURI(), header: resp.Header, status: resp.StatusCode})
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.url = server.URL
	return f
}

// answers counts the answers of a status, or of any where it is 0, to requests whose path
// contains a text.
func (f *front) answers(status int, path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, e := range f.calls {
		if (status == 0 || e.status == status) && strings.Contains(e.path, path) {
			n++
		}
	}
	return n
}

// elsewhere is the proxy for all other hosts: it refuses them.
type elsewhere struct {
	url   string
	mu    sync.Mutex
	hosts []string
}

// ServeHTTP refuses a host.
func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hosts = append(e.hosts, r.Host)
	w.WriteHeader(http.StatusForbidden)
}

// longest bounds the run of a client.
const longest = 2 * time.Minute

// outcome is what a client printed, and how it ended.
type outcome struct {
	out, faults string
	exit        int
	took        time.Duration
}

// run runs a client until it ends, with an environment that reaches the gateway and no
// other host.
func (s *session) run(t *testing.T, environment []string, program string, arguments ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	var out, faults bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.work, &out, &faults
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home, "LANG=C.UTF-8",
		"HTTP_PROXY=" + s.others.url, "HTTPS_PROXY=" + s.others.url, "NO_PROXY=127.0.0.1,localhost",
	}, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // its children too
	cmd.WaitDelay = 5 * time.Second
	began := time.Now()
	err := cmd.Run()
	o := outcome{out: out.String(), faults: faults.String(), took: time.Since(began)}
	if ctx.Err() != nil {
		t.Fatalf("the client did not end within %v\n%s%s", longest, o.out, o.faults)
	}
	if cmd.ProcessState == nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	o.exit = cmd.ProcessState.ExitCode()
	t.Logf("exit code %d after %v, %d answers of the gateway, %d of the upstream",
		o.exit, o.took.Round(10*time.Millisecond), s.front.answers(0, ""), len(s.upstream.exchanges()))
	return o
}

// installed is the path of a client's program.
func (s *session) installed(name string) string {
	return filepath.Join(s.clients, "node_modules", ".bin", name)
}

// calledNoOther fails the test where a client called another host.
func (s *session) calledNoOther(t *testing.T) {
	t.Helper()
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	if len(s.others.hosts) > 0 {
		t.Errorf("it called other hosts: %q", s.others.hosts)
	}
}
