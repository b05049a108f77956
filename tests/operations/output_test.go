package operations

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// TestFullOrClosedStandardOutputStopsNoRequest has standard outputs that take no
// line, and standard errors as well where a file or a pipe allows it.
func TestFullOrClosedStandardOutputStopsNoRequest(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, cmd *exec.Cmd){
		"a full disk": func(t *testing.T, cmd *exec.Cmd) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip("this system has no /dev/full: ", err)
			}
			t.Cleanup(func() { _ = full.Close() })
			cmd.Stdout, cmd.Stderr = full, full
		},
		"a pipe whose reader has gone": func(t *testing.T, cmd *exec.Cmd) { // EPIPE and SIGPIPE
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_ = read.Close()
			t.Cleanup(func() { _ = write.Close() })
			cmd.Stdout, cmd.Stderr = write, write
		},
		"a pipe that is not read": func(t *testing.T, cmd *exec.Cmd) {
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
		"closed from the start": func(_ *testing.T, cmd *exec.Cmd) { // no other file, such as the database, may become descriptor 1
			cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" >&- 2>&-`, cmd.Path}, cmd.Args[1:]...)
			cmd.Path, cmd.Err = "/bin/sh", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Launch(t, func(cmd *exec.Cmd) { prepare(t, cmd) }, "SIMULATOR=true", "REQUIRE_AUTH=true",
				gatewaytest.JWTSecret)
			_, key := p.CreateKey(t, p.Login(t))
			long := strings.Repeat("i", 128)
			for i := range 600 { // more lines than a pipe holds
				if a := p.Call(t, "GET", "/v1/models/gpt-4", "", "X-API-Key", key, "X-Request-Id", long); a.Status != 200 {
					t.Fatalf("request %d: %d %s", i, a.Status, a.Body)
				}
			}
			if a := p.Chat(t, strings.Replace(gatewaytest.HelloRequest, "{", `{"stream":true,`, 1), "X-API-Key", key); a.Err != nil ||
				!strings.HasSuffix(a.Body, "[DONE]\n\n") {
				t.Errorf("a stream: %v %s", a.Err, a.Body)
			}
			p.Signal(t, syscall.SIGTERM)
			if code := p.Wait(t); code != 0 {
				t.Errorf("it ended with %d", code)
			}
			again := gatewaytest.Launch(t, func(cmd *exec.Cmd) { cmd.Dir = p.Cmd.Dir }, "SIMULATOR=true", "REQUIRE_AUTH=true",
				gatewaytest.JWTSecret, "DATABASE_URL=sqlite:"+p.Cmd.Dir+"/gateway.db")
			if a := again.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 200 {
				t.Errorf("the database is not what it was: %d %s", a.Status, a.Body)
			}
		})
	}
}
