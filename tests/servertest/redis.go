//go:build unix

package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func startRedis(from source, settings ...Setting) (*Server, error) {
	s := &Server{ping: pingRedis}
	err := s.launch(func(port int) (*process, string, error) {
		password := rand.Text()
		args := []string{"--requirepass", password, "--save", "", "--appendonly", "yes"}
		for _, setting := range settings {
			name, value, _ := strings.Cut(string(setting), "=")
			args = append(args, "--"+name, value)
		}
		p, err := redisProcess(from, port, args)
		return p, "redis://:" + password + "@" + loopback(port) + "/0", err
	})
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	return s, nil
}

func redisProcess(from source, port int, args []string) (*process, error) {
	if from.bin == "" {
		return newContainer(append([]string{"-p", loopback(port) + ":6379", redisImage, "redis-server"}, args...))
	}
	dir, err := newServerDir(nil)
	args = append(args, "--bind", "127.0.0.1", "--port", strconv.Itoa(port))
	return &process{dir: dir, path: from.bin, args: args}, err
}

// pingRedis uses the protocol directly: the client would log each failed dial, and
// some fail before the server is up.
func pingRedis(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	password, _ := u.User.Password()
	_, errWrite := fmt.Fprintf(conn, "AUTH %s\r\nPING\r\n", password)
	answer := make([]byte, len("+OK\r\n+PONG\r\n"))
	errDeadline := conn.SetReadDeadline(time.Now().Add(startTimeout))
	_, errRead := io.ReadFull(conn, answer)
	if string(answer) != "+OK\r\n+PONG\r\n" {
		return fmt.Errorf("redis answers %q: %w", answer, errors.Join(errWrite, errDeadline, errRead))
	}
	return nil
}

// acquireDatabase waits for a database of the server at base that is empty and not
// in use by another test on this machine. A database with data is never changed.
func acquireDatabase(t testing.TB, base string) string {
	t.Helper()
	options, err := redis.ParseURL(base)
	if err != nil {
		t.Fatal("TEST_REDIS_URL: want redis://user:password@host:port/0") // the parser's error would contain the password
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal("TEST_REDIS_URL is no URL")
	}
	for end := time.Now().Add(2 * startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for options.DB = range 16 {
			if tryAcquire(t, *options) {
				u.Path = "/" + strconv.Itoa(options.DB)
				return u.String()
			}
		}
	}
	t.Fatal("TEST_REDIS_URL: none of the databases 0 to 15 is empty and free; flush one, or run fewer tests at once")
	return ""
}

func tryAcquire(t testing.TB, options redis.Options) bool {
	t.Helper()
	server := fnv.New64a()
	_, _ = server.Write([]byte(options.Addr))
	name := fmt.Sprintf("servertest-%d-%x-%d.lock", os.Getuid(), server.Sum64(), options.DB)
	lock, err := lockFile(filepath.Join(os.TempDir(), name), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return false // in use by another test
	}
	client := redis.NewClient(&options)
	size, err := client.DBSize(t.Context()).Result()
	if _, refused := errors.AsType[redis.Error](err); err != nil && !refused {
		t.Fatal(err)
	}
	if err != nil || size != 0 {
		_, _ = client.Close(), lock.Close()
		return false
	}
	t.Cleanup(func() {
		if err := errors.Join(client.FlushDB(context.Background()).Err(), client.Close(), lock.Close()); err != nil {
			t.Error(err)
		}
	})
	return true
}
