package models_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"modelgateway/models"
	"modelgateway/tests/servertest"
)

// lossyProxy forwards connections to PostgreSQL. As often as cuts says, it closes a
// connection after the server has answered a COMMIT, before the client gets the
// answer.
type lossyProxy struct {
	address string
	mu      sync.Mutex
	cuts    int
	cut     int // connections closed so far
}

func (l *lossyProxy) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cuts == 0 {
		return false
	}
	l.cuts--
	l.cut++
	return true
}

// startLossyProxy starts a proxy and returns the address to use instead.
func startLossyProxy(t *testing.T, address string, cuts int) (*lossyProxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lossyProxy{address: u.Host, cuts: cuts}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { l.forward(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	u.Host = listener.Addr().String()
	return l, u.String()
}

func (l *lossyProxy) forward(client net.Conn) {
	server, err := net.Dial("tcp", l.address)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	var mu sync.Mutex
	committing := false
	both.Go(func() {
		defer func() { _, _ = client.Close(), server.Close() }()
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if bytes.Contains(buf[:n], []byte("commit\x00")) && l.take() {
				mu.Lock()
				committing = true
				mu.Unlock()
			}
			if _, err2 := server.Write(buf[:n]); errors.Join(err, err2) != nil {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		mu.Lock()
		cut := committing
		mu.Unlock()
		if cut || err != nil {
			break
		}
		if _, err := io.Copy(client, bytes.NewReader(buf[:n])); err != nil {
			break
		}
	}
	_, _ = client.Close(), server.Close()
	both.Wait()
}

func TestABatchIsCountedOnceWhenTheAnswerToItsCommitIsLost(t *testing.T) {
	address := servertest.Postgres(t)
	migrated(t, address)
	proxy, through := startLossyProxy(t, address, 2)
	store := open(t, through)
	calls := []models.Call{call("a", "k1", noon), call("b", "k1", noon)}
	for range 2 { // the second is lost as well
		if err := store.WriteCalls(t.Context(), "r1", calls); err == nil || errors.Is(err, models.ErrRefused) {
			t.Errorf("the answer to the commit was lost: %v", err)
		}
		calls = append(calls, call("c", "k2", noon))
	}
	write(t, store, calls[:3]...)
	if proxy.cut != 2 {
		t.Fatalf("%d answers were lost", proxy.cut)
	}
	expect(t, rawDB(t, address), map[string]int64{
		"SELECT count(*) FROM ledger":                      3,
		"SELECT cost FROM spend WHERE account = 'key:k1'":  140,
		"SELECT cost FROM spend WHERE account = 'gateway'": 210,
	})
	if sum := total(t, store); sum.Calls != 3 {
		t.Errorf("%+v", sum)
	}
}
