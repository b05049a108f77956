package providers

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// server answers chat completions with its name, and keeps the keys that it is sent.
type server struct {
	url  string
	mu   sync.Mutex
	keys []string
	held chan struct{} // a stream waits for it before its end; nil: none waits
}

func serve(t testing.TB, name string, held chan struct{}) *server {
	t.Helper()
	s := &server{held: held}
	f := openAI()
	s.url = gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Stream bool }
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		s.keys = append(s.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		s.mu.Unlock()
		if !body.Stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(f.Answer(name)))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(f.Start + f.Text(name)))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.held:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(f.Text(" to its end") + f.End))
	}))
	return s
}

func (s *server) lastKey() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return ""
	}
	return s.keys[len(s.keys)-1]
}

// reload is what /health says of the last time that the files were read again.
func reload(t testing.TB, p *gatewaytest.Program) (status, fault string) {
	t.Helper()
	var report struct {
		Status string
		Reload struct{ Error string }
	}
	if err := json.Unmarshal([]byte(p.Get(t, "/health").Body), &report); err != nil {
		t.Fatal(err)
	}
	return report.Status, report.Reload.Error
}

func file(url, keys string) string {
	return "providers:\n  - {name: acme, type: openai, base_url: '" + url + "', keys: {file: '" + keys + "'}}\n" +
		"models:\n  - {id: m, provider: acme, price: {input: 1, output: 1}}\n"
}

// A good file takes effect for new calls while a call under way ends at its upstream. A
// bad one changes nothing, and /health and the log say which line has the fault.
func TestTheModelsFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	before, after := serve(t, "before", release), serve(t, "after", nil)
	keys := write(t, "keys", "sk-one")
	models := write(t, "models.yaml", file(before.url, keys))
	p := gatewaytest.Start(t, "MODELS_FILE="+models)
	running := make(chan gatewaytest.Answer, 1)
	go func() { running <- p.Chat(t, ask("m", gatewaytest.Streaming)) }()
	gatewaytest.Until(t, "the stream runs", func() bool { return before.lastKey() != "" })

	rewrite(t, models, file(after.url, keys))
	gatewaytest.Until(t, "new calls go to the new address", func() bool {
		return gatewaytest.TextOf(p.Chat(t, ask("m", "")).Body) == "after"
	})
	if status, fault := reload(t, p); status != "healthy" || fault != "" {
		t.Errorf("%s: %s", status, fault)
	}

	rewrite(t, models, file(before.url, keys)+"  - {id: n, provider: nowhere}\n")
	gatewaytest.Until(t, "the bad file is refused", func() bool { _, fault := reload(t, p); return fault != "" })
	status, fault := reload(t, p)
	want := `line 5: models[1] n: provider must be one of anthropic, openai, gemini, acme, not "nowhere"`
	if status != "degraded" || !strings.Contains(fault, want) {
		t.Errorf("%s: %s", status, fault)
	}
	gatewaytest.Until(t, "the log says so too", func() bool {
		return strings.Contains(p.Log.String(), "the gateway keeps the settings that it read before")
	})
	if a := p.Chat(t, ask("m", "")); gatewaytest.TextOf(a.Body) != "after" {
		t.Errorf("the bad file took effect: %d %s", a.Status, a.Body)
	}

	rewrite(t, models, file(after.url, keys))
	gatewaytest.Until(t, "the fault is gone", func() bool { status, fault := reload(t, p); return fault == "" && status == "healthy" })
	close(release)
	if a := <-running; a.Status != 200 || a.Err != nil || gatewaytest.TextOf(a.Body) != "before to its end" {
		t.Errorf("the call under way: %d %v %s", a.Status, a.Err, a.Body)
	}
}

// Keys in files are exchanged without a lost call: those of the models file and those of
// the settings.
func TestKeysInFilesAreRotatedUnderRunningCalls(t *testing.T) {
	t.Parallel()
	own, builtIn := serve(t, "own", nil), serve(t, "built in", nil)
	keys, openai := write(t, "keys", "sk-one"), write(t, "openai", "sk-first\n")
	p := gatewaytest.Start(t, "MODELS_FILE="+write(t, "models.yaml", file(own.url, keys)),
		"OPENAI_API_KEY_FILE="+openai, "OPENAI_BASE_URL="+builtIn.url)
	var stop atomic.Bool
	var calls, lost atomic.Int64
	var clients sync.WaitGroup
	for _, model := range []string{"m", "gpt-4", "m", "gpt-4"} {
		clients.Go(func() {
			for !stop.Load() {
				if a := p.Chat(t, ask(model, "")); a.Status != 200 {
					lost.Add(1)
					t.Errorf("%d %s", a.Status, a.Body)
				}
				calls.Add(1)
			}
		})
	}
	gatewaytest.Until(t, "calls run", func() bool { return own.lastKey() == "sk-one" && builtIn.lastKey() == "sk-first" })
	rewrite(t, keys, "sk-two")
	rewrite(t, openai, "sk-second\n")
	gatewaytest.Until(t, "the new keys are used", func() bool { return own.lastKey() == "sk-two" && builtIn.lastKey() == "sk-second" })
	rewrite(t, keys, "a key with spaces")
	gatewaytest.Until(t, "the bad key is refused", func() bool { _, fault := reload(t, p); return strings.Contains(fault, "keys: the file") })
	if _, fault := reload(t, p); strings.Contains(fault, "with spaces") || own.lastKey() != "sk-two" {
		t.Errorf("the key is %s: %s", own.lastKey(), fault)
	}
	stop.Store(true)
	clients.Wait()
	if calls.Load() < 20 || lost.Load() > 0 {
		t.Errorf("%d calls, of which %d were lost", calls.Load(), lost.Load())
	}
	t.Logf("%d calls, none was lost", calls.Load())
	if strings.Contains(p.Log.String(), "sk-") {
		t.Error("the log has a key")
	}
}

// Kubernetes mounts files through two links, and changes the one of the folder.
func TestAMountedFileIsReadAgainWhenItsFolderChanges(t *testing.T) {
	t.Parallel()
	before, after := serve(t, "before", nil), serve(t, "after", nil)
	keys, dir := write(t, "keys", "sk-one"), t.TempDir()
	for name, url := range map[string]string{"..one": before.url, "..two": after.url} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(dir, name, "models.yaml"), file(url, keys))
	}
	for target, link := range map[string]string{"..one": "..data", "..data/models.yaml": "models.yaml"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := gatewaytest.Start(t, "MODELS_FILE="+filepath.Join(dir, "models.yaml"))
	if a := p.Chat(t, ask("m", "")); gatewaytest.TextOf(a.Body) != "before" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if err := os.Symlink("..two", filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "the new file is used", func() bool {
		return gatewaytest.TextOf(p.Chat(t, ask("m", "")).Body) == "after"
	})
}

// The .env file is not watched: SIGHUP has it read again.
func TestSIGHUPReadsTheKeysOfTheDotenvFileAgain(t *testing.T) {
	t.Parallel()
	u := serve(t, "fine", nil)
	models := write(t, "models.yaml", "providers: [{name: acme, type: openai, base_url: '"+u.url+"', keys: {env: ACME_KEY}}]\n")
	dir := ""
	p := gatewaytest.Launch(t, nil, "MODELS_FILE="+models, "ACME_KEY=sk-one")
	dir = p.Cmd.Dir
	if a := p.Chat(t, ask("acme/m", "")); a.Status != 200 || u.lastKey() != "sk-one" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	rewrite(t, models, "providers: [{name: acme, type: openai, base_url: '"+u.url+"', keys: {env: ACME_OTHER_KEY}}]\n")
	gatewaytest.Until(t, "the variable is missing", func() bool {
		_, fault := reload(t, p.Program)
		return strings.Contains(fault, "ACME_OTHER_KEY")
	})
	rewrite(t, filepath.Join(dir, ".env"), "ACME_OTHER_KEY=sk-two\n")
	p.Signal(t, syscall.SIGHUP)
	gatewaytest.Until(t, "the key of .env is used", func() bool {
		return p.Chat(t, ask("acme/m", "")).Status == 200 && u.lastKey() == "sk-two"
	})
}

// The counts and circuits of an upstream outlast a change of other parts of the file.
func TestAChangeKeepsTheHealthOfOtherProviders(t *testing.T) {
	t.Parallel()
	broken := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	text := "providers:\n  - {name: bad, type: openai, base_url: '" + broken + "', auth: none}\n"
	models := write(t, "models.yaml", text)
	p := gatewaytest.Start(t, "MODELS_FILE="+models, "MAX_RETRIES=0")
	for range 12 {
		p.Chat(t, ask("bad/m", ""))
	}
	rewrite(t, models, text+"  - {name: new, type: openai, base_url: '"+broken+"', auth: none}\n")
	gatewaytest.Until(t, "the new provider is there", func() bool { return strings.Contains(p.Get(t, "/health").Body, `"new":"healthy"`) })
	if health := p.Get(t, "/health").Body; !strings.Contains(health, `"bad":"degraded"`) {
		t.Errorf("%s", health)
	}
	rewrite(t, models, "models: []\n")
	gatewaytest.Until(t, "both are gone", func() bool { return !strings.Contains(p.Get(t, "/health").Body, `"bad"`) })
	if a := p.Chat(t, ask("bad/m", "")); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
