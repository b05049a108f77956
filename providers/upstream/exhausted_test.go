package upstream

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"modelgateway/api"
)

// What the machine has no more of is our own trouble, not the provider's.
func TestExhaustedResourcesAreNotTheProvidersFault(t *testing.T) {
	for errno, ours := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.EADDRNOTAVAIL: true, syscall.ENOBUFS: true, syscall.ENOMEM: true,
		syscall.ECONNREFUSED: false, syscall.ECONNRESET: false, syscall.ENETUNREACH: false, syscall.EHOSTUNREACH: false, syscall.EPIPE: false,
	} {
		c := testClient("http://127.0.0.1:1", time.Minute)
		c.connections.dial.Control = func(string, string, syscall.RawConn) error { return os.NewSyscallError("socket", errno) }
		_, whole := c.Post(t.Context(), canary, "/x", []byte("{}"))
		_, stream := c.Events(t.Context(), canary, "/x", []byte("{}"))
		for _, err := range []error{whole, stream} {
			if !ours {
				want(t, err, 502)
				continue
			}
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != 503 || e.Code != api.CodeServiceUnavailable || e.Provider != "" || e.RetryAfterSeconds() < 1 ||
				!e.ShouldRetry() {
				t.Errorf("%v: %v", errno, err)
			}
			if !errors.Is(err, errno) {
				t.Errorf("%v: the log is not told: %v", errno, err)
			}
		}
	}
}

func TestSlowConnectIsATimeoutOfTheProvider(t *testing.T) {
	c := testClient("http://127.0.0.1:1", time.Minute)
	c.connections.dial.Timeout = 1
	_, err := c.Post(t.Context(), canary, "/x", []byte("{}"))
	want(t, err, 504)
}
