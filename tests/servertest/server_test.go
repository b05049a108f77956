//go:build unix

package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// breakable is a server under test, and functions that write a value to it and read
// it back.
type breakable struct {
	*Server
	write, read func(context.Context) error
}

// breakables has a start function for both servers from every source of this machine.
func breakables(t *testing.T) map[string]func(*testing.T) breakable {
	t.Helper()
	all := firstChoices(t)
	if _, chosen := all["PostgreSQL in Docker"]; !chosen && checkDocker(postgresImage) == nil {
		all["PostgreSQL in Docker"] = func(t *testing.T) breakable { return breakablePostgres(t, source{}) }
	}
	if _, chosen := all["Redis in Docker"]; !chosen && checkDocker(redisImage) == nil {
		all["Redis in Docker"] = func(t *testing.T) breakable { return breakableRedis(t, source{}) }
	}
	return all
}

func firstChoices(t *testing.T) map[string]func(*testing.T) breakable {
	t.Helper()
	postgres, err := postgresSource()
	must(t, err)
	redis, err := redisSource()
	must(t, err)
	label := func(from source) string {
		if from.bin == "" {
			return " in Docker"
		}
		return " from " + from.bin
	}
	return map[string]func(*testing.T) breakable{
		"PostgreSQL" + label(postgres): func(t *testing.T) breakable { return breakablePostgres(t, postgres) },
		"Redis" + label(redis):         func(t *testing.T) breakable { return breakableRedis(t, redis) },
	}
}

func breakablePostgres(t *testing.T, from source) breakable {
	t.Helper()
	server, err := startPostgres(from)
	if err != nil {
		t.Fatal(err)
	}
	server.removeAfter(t)
	db := openPostgres(t, server.URL)
	return breakable{
		Server: server,
		write: func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "CREATE TABLE kept (answer int); INSERT INTO kept VALUES (42)")
			return err
		},
		read: func(ctx context.Context) error {
			var answer int
			if err := db.QueryRowContext(ctx, "SELECT answer FROM kept").Scan(&answer); err != nil {
				return err
			}
			if answer != 42 {
				return fmt.Errorf("read %d", answer)
			}
			return nil
		},
	}
}

func breakableRedis(t *testing.T, from source) breakable {
	t.Helper()
	server, err := startRedis(from)
	if err != nil {
		t.Fatal(err)
	}
	server.removeAfter(t)
	client := openRedis(t, server.URL)
	return breakable{
		Server: server,
		write:  func(ctx context.Context) error { return client.Set(ctx, "kept", 42, 0).Err() },
		read: func(ctx context.Context) error {
			answer, err := client.Get(ctx, "kept").Int()
			if err == nil && answer != 42 {
				return fmt.Errorf("read %d", answer)
			}
			return err
		},
	}
}

func TestServersKeepURLAndDataThroughFaultsAndAreRemovedAfterwards(t *testing.T) {
	for name, start := range breakables(t) {
		var s breakable
		t.Run(name, func(t *testing.T) {
			s = start(t)
			address := s.URL
			checkListensOnLoopbackOnly(t, hostOf(t, address))
			must(t, s.write(t.Context()))
			checkFreezeAndThaw(t, s)
			for fault, inject := range map[string]func(){
				"stop":            s.Stop,
				"kill":            s.Kill,
				"freeze and stop": func() { s.Freeze(); s.Stop() },
				"freeze and kill": func() { s.Freeze(); s.Kill() },
			} {
				inject()
				if conn, err := net.Dial("tcp", hostOf(t, address)); err == nil {
					_ = conn.Close()
					t.Errorf("after %s the port still answers", fault)
				}
				s.Restart()
				eventually(t, func() error { return s.read(t.Context()) })
			}
			s.Restart() // of a server that runs
			eventually(t, func() error { return s.read(t.Context()) })
			if s.URL != address {
				t.Errorf("the URL became %s, it was %s", s.URL, address)
			}
			s.Freeze()
		})
		eventually(t, func() error { return removed(s.run.dir, s.run.container, hostOf(t, s.URL)) })
	}
}

func checkFreezeAndThaw(t *testing.T, s breakable) {
	t.Helper()
	s.Freeze()
	answer := make(chan error, 1)
	go func() { answer <- s.read(t.Context()) }()
	select {
	case err := <-answer:
		t.Fatalf("a frozen server answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	conn, err := net.Dial("tcp", hostOf(t, s.URL))
	must(t, err) // unlike a stopped one, it accepts connections
	must(t, conn.Close())
	s.Thaw()
	must(t, <-answer)
}

func checkListensOnLoopbackOnly(t *testing.T, server string) {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	_, port, err := net.SplitHostPort(server)
	must(t, err)
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if !ok || network.IP.IsLoopback() || network.IP.IsLinkLocalUnicast() {
			continue
		}
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(network.IP.String(), port), time.Second)
		if err == nil {
			_ = conn.Close()
			t.Errorf("the server answers at %s", network.IP)
		}
	}
}

func TestServersThatDoNotRunAreRemovedToo(t *testing.T) {
	for name, start := range firstChoices(t) {
		for _, state := range []string{"stopped", "killed"} {
			var s breakable
			t.Run(name+" "+state, func(t *testing.T) {
				s = start(t)
				if state == "stopped" {
					s.Stop()
				} else {
					s.Kill()
				}
			})
			eventually(t, func() error { return removed(s.run.dir, s.run.container, hostOf(t, s.URL)) })
		}
	}
}

// A child process runs this test too: it starts servers, freezes one of each kind,
// prints their directories and addresses, and waits to be killed.
func TestServersOfAKilledTestProcessAreRemoved(t *testing.T) {
	if os.Getenv("SERVERTEST_CHILD") != "" {
		Postgres(t) // on the shared server, which runs in the same directory
		StartRedis(t)
		for _, start := range breakables(t) {
			s := start(t)
			s.Freeze()
			fmt.Printf("started\t%s\t%s\t%s\n", s.run.dir, s.run.container, hostOf(t, s.URL))
		}
		fmt.Println("ready")
		select {}
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "SERVERTEST_CHILD=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var servers [][]string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the child ended before it was ready: %v", err)
		}
		if line == "ready\n" {
			break
		}
		if fields := strings.Split(strings.TrimSpace(line), "\t"); fields[0] == "started" {
			servers = append(servers, fields[1:])
		}
	}
	must(t, child.Process.Signal(syscall.SIGKILL))
	_ = child.Wait()
	if len(servers) < 2 {
		t.Fatalf("the child started %d servers", len(servers))
	}
	for _, s := range servers {
		dir := filepath.Dir(s[0])
		eventually(t, func() error { return removed(dir, s[1], s[2]) })
	}
}

// removed returns an error while anything is left of a server.
func removed(dir, container, address string) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is still there: %w", dir, err)
	}
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		return errors.Join(fmt.Errorf("%s still answers", address), conn.Close())
	}
	if container != "" && docker(startTimeout, "container", "inspect", container) == nil {
		return fmt.Errorf("the container %s is still there", container)
	}
	working, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return err
	}
	for _, link := range working {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			return fmt.Errorf("%s still runs in %s", filepath.Dir(link), cwd)
		}
	}
	return nil
}
