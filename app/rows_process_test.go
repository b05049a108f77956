package app

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgateway/providers/providertest"
)

// asProgram tells this test's binary to be the gateway.
const asProgram = "MODELGATEWAY_TEST_IS_THE_PROGRAM"

// process is the gateway in a process of its own, main included.
type process struct {
	*program
	cmd    *exec.Cmd
	faults *logBuffer // standard error
	ended  chan error
}

// beTheProgram does not return in a process that launch has started: every test
// that calls launch begins with it.
func beTheProgram() {
	if os.Getenv(asProgram) != "" {
		os.Args = os.Args[:1]
		Main()
	}
}

// launch starts a process on a free port and waits until it serves. Standard
// output goes where prepare puts it, else into the program's log.
func launch(t *testing.T, prepare func(cmd *exec.Cmd), settings ...string) *process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	test, _, _ := strings.Cut(t.Name(), "/")
	p := &process{
		program: &program{url: "http://" + address, client: documented(t), log: &logBuffer{grown: make(chan struct{}, 1)}},
		cmd:     exec.Command(os.Args[0], "-test.run=^"+test+"$"),
		faults:  &logBuffer{grown: make(chan struct{}, 1)}, ended: make(chan error, 1),
	}
	_, port, _ := net.SplitHostPort(address)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = t.TempDir(), p.log, p.faults
	p.cmd.Env = append([]string{
		asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "HOST=127.0.0.1", "PORT=" + port, "LOG_FORMAT=json", "LOG_LEVEL=debug", "MODEL_DISCOVERY=false",
		"SHUTDOWN_GRACE_SECONDS=5", "DATABASE_URL=sqlite:" + p.cmd.Dir + "/gateway.db", "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0",
	}, settings...)
	if prepare != nil {
		prepare(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }() // ends with the process, killed below at the latest
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.serves(t, "at first")
	return p
}

// serves waits until the gateway answers, which it has to unless it is gone.
func (p *process) serves(t *testing.T, when string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(p.url + "/livez")
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		select {
		case err := <-p.ended:
			t.Fatalf("%s: it has ended: %v\n%s", when, err, p.faults)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not answer: %v\n%s", when, err, p.faults)
		}
	}
}

// end waits for the process's end and is its exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return 0
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// TestO7O16AnOutputThatIsFullOrClosedStopsNobody has every standard output that
// takes no line. Standard error, where a program says why it dies, is no better.
func TestO7O16AnOutputThatIsFullOrClosedStopsNobody(t *testing.T) {
	beTheProgram()
	for name, prepare := range map[string]func(t *testing.T, cmd *exec.Cmd){
		"a full disk": func(t *testing.T, cmd *exec.Cmd) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip("this system has no /dev/full: ", err)
			}
			t.Cleanup(func() { _ = full.Close() })
			cmd.Stdout, cmd.Stderr = full, full
		},
		"a pipe whose reader has gone": func(t *testing.T, cmd *exec.Cmd) { // EPIPE, and the signal that goes with it
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_ = read.Close()
			t.Cleanup(func() { _ = write.Close() })
			cmd.Stdout, cmd.Stderr = write, write
		},
		"a pipe that nobody reads": func(t *testing.T, cmd *exec.Cmd) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = read.Close()
				_ = write.Close()
			})
			cmd.Stdout = write
		},
		"closed from the start": func(_ *testing.T, cmd *exec.Cmd) { // nothing else may come to be number 1, the database least of all
			cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" >&- 2>&-`, cmd.Path}, cmd.Args[1:]...)
			cmd.Path, cmd.Err = "/bin/sh", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := launch(t, func(cmd *exec.Cmd) { prepare(t, cmd) }, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret)
			_, key := p.createKey(t, p.login(t))
			long := strings.Repeat("i", 128)
			for i := range 600 { // more than a pipe holds
				if a := p.call(t, "GET", "/v1/models/gpt-4", "", "X-API-Key", key, "X-Request-Id", long); a.status != 200 {
					t.Fatalf("request %d: %d %s", i, a.status, a.body)
				}
			}
			if a := p.chat(t, strings.Replace(hello, "{", `{"stream":true,`, 1), "X-API-Key", key); a.err != nil || !strings.HasSuffix(a.body, "[DONE]\n\n") {
				t.Errorf("a stream: %v %s", a.err, a.body)
			}
			p.signal(t, syscall.SIGTERM)
			if code := p.end(t); code != 0 {
				t.Errorf("it ended with %d", code)
			}
			again := launch(t, func(cmd *exec.Cmd) { cmd.Dir = p.cmd.Dir }, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret, "DATABASE_URL=sqlite:"+p.cmd.Dir+"/gateway.db")
			if a := again.chat(t, hello, "X-API-Key", key); a.status != 200 {
				t.Errorf("the database is not what it was: %d %s", a.status, a.body)
			}
		})
	}
}

// TestO18NothingShowsTheInsideOfTheProgram looks for the doors that debugging
// leaves open, and at what signals make it print.
func TestO18NothingShowsTheInsideOfTheProgram(t *testing.T) {
	beTheProgram()
	secrets := map[string]string{
		"JWT_SECRET": "canary-jwt-0f9c2b7a64d18e5330bb1f6ad2c4e8971b", "JWT_SECRET_PREVIOUS": "canary-old-7be23d18e5330bb1f6ad2c4e8971b",
		"OPENAI_API_KEY": "sk-canary-openai-91ab", "ANTHROPIC_API_KEY": "sk-canary-anthropic-27cd", "GEMINI_API_KEY": "canary-gemini-55ef",
		"METRICS_TOKEN": "canary-metrics-5d1e9c", "IDP_CLIENT_SECRET": "canary-idp-91b2c3d4", "IDP_CLIENT_ID": "canary-client", "REDIS_URL": "redis://:canary-redis-77aa@127.0.0.1:1/0",
	}
	u := providertest.Serve(t, events(providertest.Hold))
	settings := []string{"REQUIRE_AUTH=true", "IDP_PROVIDER=oidc", "IDP_ISSUER=http://127.0.0.1:1", "OPENAI_BASE_URL=" + u.URL}
	for name, secret := range secrets {
		settings = append(settings, name+"="+secret)
	}
	secrets["REDIS_URL"] = "canary-redis-77aa"
	p := launch(t, nil, settings...)
	token := p.login(t)
	_, key := p.createKey(t, token)
	secrets["token"], secrets["key"], secrets["password"] = token[1], key, "correct horse battery"
	for _, path := range []string{
		"/debug", "/debug/", "/debug/pprof", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline", "/debug/pprof/profile?seconds=1", "/debug/vars", "/debug/requests",
		"/debug/events", "/pprof", "/vars", "/expvar", "/config", "/env", "/dump", "/trace", "/actuator/env", "/admin", "/status", "/server-status", "/.env", "/.git/config", "/internal", "/_debug", "/v1/debug", "/swagger",
	} {
		for _, headers := range [][]string{nil, token} {
			if a := p.call(t, "GET", path, "", headers...); a.status != 404 || a.fault(t).Code != "route_not_found" && a.fault(t).Code != "model_not_found" {
				t.Errorf("%s: %d %.200s", path, a.status, a.body)
			}
		}
	}
	if _, pattern := http.DefaultServeMux.Handler(&http.Request{Method: "GET", URL: &url.URL{Path: "/debug/pprof/"}}); pattern != "" {
		t.Errorf("something imports net/http/pprof: %s", pattern)
	}
	if a := p.call(t, "GET", "/metrics", "", "Authorization", "Bearer "+secrets["METRICS_TOKEN"]); a.status != 200 || told(a.body, secrets) != "" {
		t.Errorf("the metrics: %d, they hold the %s", a.status, told(a.body, secrets))
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGWINCH} {
		p.signal(t, s)
		p.serves(t, "after "+s.String())
	}
	if text := p.faults.String(); text != "" {
		t.Errorf("a signal made it say %s", text)
	}
	// A request with all that is secret is under way when the program is made to show its stacks.
	go func() {
		req, err := http.NewRequest(http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(families()[0].request("")))
		if err != nil {
			return
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {key}}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	until(t, "the request is under way", func() bool { return len(u.Requests()) > 0 })
	p.signal(t, syscall.SIGQUIT)
	code, stacks := p.end(t), p.faults.String()
	if code == 0 || !strings.Contains(stacks, "SIGQUIT") || !strings.Contains(stacks, "goroutine ") {
		t.Errorf("it ended with %d and said %s", code, stacks)
	}
	if name := told(stacks+p.log.String(), secrets); name != "" {
		t.Errorf("the stacks or the log hold the %s", name)
	}
}

// told is the name of a secret that the text holds in some form, or empty.
func told(text string, secrets map[string]string) string {
	for name, secret := range secrets {
		for _, form := range []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				return name
			}
		}
	}
	return ""
}

// TestO20NoPlaceOrLanguageChangesAnAnswer runs the same requests in two places.
// Kathmandu is a quarter of an hour off everybody's clock; in Turkish the small I
// has no dot, and the capital i has one.
func TestO20NoPlaceOrLanguageChangesAnAnswer(t *testing.T) {
	beTheProgram()
	places := map[string][]string{
		"here":  {"TZ=UTC", "LANG=C"},
		"there": {"TZ=Asia/Kathmandu", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "LANGUAGE=tr"},
	}
	said := map[string][]string{}
	for name, place := range places {
		p := launch(t, nil, append(place, "SIMULATOR=true", "REQUIRE_AUTH=true", goodSecret, "RATE_LIMIT_RPM=600", "ALLOWED_EMAIL_DOMAINS=ISIK.example,example.com", "JWT_EXPIRY_SECONDS=3600")...)
		if name == "there" && !strings.Contains(p.log.String(), `+05:45"`) {
			t.Skip("this system does not know Kathmandu's time")
		}
		said[name] = p.walk(t)
	}
	for i := range said["here"] {
		if here, there := said["here"][i], said["there"][i]; here != there {
			t.Errorf("answer %d\nhere  %s\nthere %s", i, here, there)
		}
	}
}

// changing is what differs between any two runs.
var changing = regexp.MustCompile(`"(id|key|prefix|token)":"[^"]*"|"(uptime)":\d+|"(expires_in)":3(599|600)\b`)

// walk is what a user is told from registration to revocation, without what is
// another each time. Times are only held against the clock.
func (p *process) walk(t *testing.T) []string {
	t.Helper()
	var all []string
	now := time.Now()
	say := func(method, path, body string, headers ...string) answer {
		a := p.call(t, method, path, body, headers...)
		var times []string
		for _, at := range regexp.MustCompile(`"(created|created_at|last_used_at|expires_at)":(\d+)`).FindAllStringSubmatch(a.body, -1) {
			if n, _ := strconv.ParseInt(at[2], 10, 64); path != "/v1/models" && (n < now.Unix()-5 || n > now.Unix()+3700) {
				times = append(times, at[0])
			}
		}
		if date, err := http.ParseTime(a.header.Get("Date")); err != nil || date.Sub(now).Abs() > time.Minute {
			times = append(times, a.header.Get("Date"))
		}
		if times != nil {
			t.Errorf("%s %s: times of another place: %s", method, path, times)
		}
		text := a.body
		var value any
		if json.Unmarshal([]byte(text), &value) == nil { // the order of members says nothing
			sorted, _ := json.Marshal(value)
			text = string(sorted)
		}
		text = changing.ReplaceAllString(text, "$1$2$3")
		if path != "/v1/models" {
			text = regexp.MustCompile(`":\d{9,}`).ReplaceAllString(text, `":time`)
		}
		all = append(all, fmt.Sprint(method, " ", path, " ", a.status, " ", a.header.Get("Content-Type"), " ", a.header.Get("X-Ratelimit-Remaining-Requests"), " ", text))
		return a
	}
	const account = `"email":"INCI.ISIK@ISIK.EXAMPLE","password":"correct horse battery"`
	say("POST", "/auth/register", `{"name":"İnci Işık",`+account+`}`)
	say("POST", "/auth/register", `{"name":"again",`+strings.ToLower(account)+`}`)
	say("POST", "/auth/register", `{"name":"dotless","email":"ıncı@ısık.example","password":"correct horse battery"}`)
	login := say("POST", "/auth/login", `{"email":"inci.isik@isik.example","password":"correct horse battery"}`)
	token := []string{"Authorization", "BEARER " + field(t, login, "token")}
	key := field(t, say("POST", "/auth/keys", `{"name":"IİıiI"}`, token...), "key")
	say("POST", "/v1/chat/completions", hello, "X-API-Key", key)
	say("POST", "/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,"temperature":0.5,`, 1), "X-API-Key", key)
	say("POST", "/v1/chat/completions", `{"model":"GPT-4",`+hi+`}`, "X-API-Key", key)
	say("POST", "/v1/chat/completions", `{"model":"gpt-4","temperature":0,5,`+hi+`}`, "X-API-Key", key)
	say("GET", "/v1/models", "", "X-API-Key", key)
	eventually(t, 20*time.Second, "both calls are in the ledger", func() bool {
		return strings.Contains(p.call(t, "GET", "/v1/usage", "", token...).body, `"calls":2,`)
	})
	say("GET", "/auth/keys", "", token...)
	say("GET", "/health", "")
	say("GET", "/V1/MODELS", "")
	return all
}
