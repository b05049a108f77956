package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/services/mail/mailtest"
)

// running is a queue that runs until stop, and its log.
func running(t *testing.T, url string) (q *Queue, log *safeBuffer, stop func()) {
	t.Helper()
	log = &safeBuffer{}
	q, err := New(Options{URL: url, From: "Model Gateway <gateway@example.com>", Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	q.pause = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { q.Run(ctx) })
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	return q, log, stop
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *safeBuffer) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(s.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not logged: %s", text, s)
		}
	}
}

func message(to string) Job {
	return func(context.Context) (*Message, error) {
		return &Message{Kind: "reset", UserID: "usr_1", To: to, Subject: "Grüße", Text: "Hello,\n\nhttps://x.example/?token=SECRET\n"}, nil
	}
}

func TestMailsArriveAndTheLogHasNeitherLinkNorAddress(t *testing.T) {
	s := mailtest.Serve(t)
	q, log, _ := running(t, s.URL)
	if !q.Add(message("ada@example.com")) {
		t.Fatal("not added")
	}
	m := s.Await(t, 1)
	if !strings.Contains(m.To, "ada@example.com") || !strings.Contains(m.From, "gateway@example.com") || m.Subject != "Grüße" ||
		!strings.Contains(m.Text, "https://x.example/?token=SECRET") {
		t.Errorf("%+v", m)
	}
	log.await(t, "mail sent")
	if text := log.String(); strings.Contains(text, "SECRET") || strings.Contains(text, "ada@") || !strings.Contains(text, "user=usr_1") {
		t.Errorf("%s", text)
	}
}

func TestAMailIsTriedAgainUnlessItIsRefusedForGood(t *testing.T) {
	s := mailtest.Serve(t)
	q, log, _ := running(t, s.URL)
	s.Refuse("451 busy", "452 full")
	q.Add(message("ada@example.com"))
	s.Await(t, 1)
	s.Refuse("554 no, ada@example.com")
	q.Add(message("ada@example.com"))
	log.await(t, "could not be sent")
	if text := log.String(); strings.Contains(text, "ada@") || !strings.Contains(text, "554") {
		t.Errorf("%s", text)
	}
	q.Add(message("bob@example.com"))
	if m := s.Await(t, 2); !strings.Contains(m.To, "bob") || len(s.Mails()) != 2 {
		t.Errorf("%+v", s.Mails())
	}
}

func TestAServerThatIsDownIsTriedThreeTimes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	q, log, _ := running(t, "smtp://u:PASSWORD@"+listener.Addr().String())
	q.Add(message("ada@example.com"))
	log.await(t, "could not be sent")
	if text := log.String(); strings.Contains(text, "PASSWORD") || strings.Contains(text, "ada@") {
		t.Errorf("%s", text)
	}
}

func TestJobsWithoutAMessageAndThatFailSendNothing(t *testing.T) {
	s := mailtest.Serve(t)
	q, log, stop := running(t, s.URL)
	q.Add(func(context.Context) (*Message, error) { return nil, nil })
	q.Add(func(context.Context) (*Message, error) { return nil, errors.New("database is gone") })
	log.await(t, "database is gone")
	stop()
	if n := len(s.Mails()); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestWhatWaitsIsSentWhenTheGatewayStops(t *testing.T) {
	s := mailtest.Serve(t)
	q, _, stop := running(t, s.URL)
	for i := range 20 {
		q.Add(message(fmt.Sprintf("u%d@example.com", i)))
	}
	stop()
	if n := len(s.Mails()); n != 20 {
		t.Errorf("%d of 20 arrived", n)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	q, err := New(Options{URL: "smtp://127.0.0.1:1", From: "a@b.example", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range mostWaiting {
		if !q.Add(message("a@b.example")) {
			t.Fatal("refused early")
		}
	}
	if q.Add(message("a@b.example")) {
		t.Error("the queue has no bound")
	}
}

// Another machine may not get a link over a connection that can be read on its way.
func TestOnlyThisMachineMayLackTLS(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "::1": true, "mail.example.com": false, "10.0.0.1": false, "localhost.example": false,
	} {
		if got := onThisMachine(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	s := mailtest.Serve(t) // has no STARTTLS
	o := Options{URL: strings.Replace(s.URL, "127.0.0.1", "127.0.0.1.nip.invalid", 1), From: "a@b.example"}
	client, err := o.client()
	if err != nil || client.TLSPolicy() != "TLSMandatory" {
		t.Errorf("%v %v", client, err)
	}
}

func TestFaultsShowNothingOfTheURL(t *testing.T) {
	for _, o := range []Options{
		{URL: "smtp://u:SECRET@host:99999999999", From: "a@b.example"}, {URL: "smtp://u:SECRET@\x7f", From: "a@b.example"},
		{URL: "smtp://host", From: "SECRET"},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v", err)
		}
	}
}
