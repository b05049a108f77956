// Package mailtest is a mail server for tests.
package mailtest

import (
	"io"
	"log"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Server accepts mails on a port of this machine.
type Server struct {
	URL string // with the user and the password, if there are

	options  Options
	mu       sync.Mutex
	mails    []Mail
	refusals []string // answers to the next mails, such as 451 busy
	logins   []string // the mechanisms with which clients have logged in
}

// Options are how a server differs from one without TLS that needs no log-in.
type Options struct {
	Certificate    *Certificate
	Implicit       bool // TLS from the first byte: smtps://
	User, Password string
	Mechanism      string        // PLAIN or LOGIN, for the user
	WithoutTLS     bool          // it lets users log in without TLS
	Delay          time.Duration // before it takes a mail
}

// Mail is a mail that was accepted.
type Mail struct{ From, To, Subject, Text string }

// Serve starts a server without TLS for the time of the test.
func Serve(t testing.TB) *Server { return ServeWith(t, Options{}) }

// ServeWith starts a server for the time of the test.
func ServeWith(t testing.TB, o Options) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "smtp://" + listener.Addr().String(), options: o}
	if o.Implicit {
		s.URL = "smtps://" + listener.Addr().String()
	}
	if o.User != "" {
		s.URL = strings.Replace(s.URL, "://", "://"+o.User+":"+o.Password+"@", 1)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		if o.User == "" {
			return &session{server: s}, nil
		}
		return &loginSession{session{server: s}}, nil
	}))
	server.Domain, server.AllowInsecureAuth = "mailtest", o.WithoutTLS
	server.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up
	if o.Certificate != nil {
		server.TLSConfig = o.Certificate.server()
		if o.Implicit {
			listener = o.Certificate.listener(listener)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // Close does not, if Serve has not begun yet
		all.Wait()
	})
	return s
}

// Refuse has the server answer the next mails with these lines.
func (s *Server) Refuse(answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, answers...)
}

// Mails are the mails that were accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Logins are the mechanisms of the attempts to log in, the refused ones included.
func (s *Server) Logins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.logins...)
}

// Await waits for the nth mail, from 1.
func (s *Server) Await(t testing.TB, n int) Mail {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if all := s.Mails(); len(all) >= n {
			return all[n-1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no mail %d", n)
		}
	}
}

// Token is the token of the link in the mail.
func (m Mail) Token() string {
	return regexp.MustCompile(`mgw_[a-z]+_[A-Z2-7]{26}`).FindString(m.Text)
}

// session is a connection of a client.
type session struct {
	server   *Server
	loggedIn bool
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }

func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.server.options.User != "" && !s.loggedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (*session) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s *session) Data(r io.Reader) error {
	time.Sleep(s.server.options.Delay)
	if answer := s.server.refusal(); answer != "" {
		code, reason, _ := strings.Cut(answer, " ")
		number, err := strconv.Atoi(code)
		if err != nil {
			return err
		}
		return &smtp.SMTPError{Code: number, Message: reason}
	}
	return s.server.keep(r)
}

// loginSession is a session of a server with a user. Only such a server offers AUTH.
type loginSession struct{ session }

func (s *loginSession) AuthMechanisms() []string { return []string{s.server.options.Mechanism} }

func (s *loginSession) Auth(mechanism string) (sasl.Server, error) {
	s.server.mu.Lock()
	s.server.logins = append(s.server.logins, mechanism)
	s.server.mu.Unlock()
	check := func(user, password string) error {
		if o := s.server.options; mechanism != o.Mechanism || user != o.User || password != o.Password {
			return smtp.ErrAuthFailed
		}
		s.loggedIn = true
		return nil
	}
	if mechanism == "LOGIN" {
		return &loginMechanism{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
}

// loginMechanism is LOGIN (draft-murchison-sasl-login), of which the library has the
// client only.
type loginMechanism struct {
	check func(user, password string) error
	asked int
	user  string
}

func (l *loginMechanism) Next(response []byte) (challenge []byte, done bool, err error) {
	l.asked++
	switch l.asked {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.user, string(response))
}

func (s *Server) refusal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refusals) == 0 {
		return ""
	}
	answer := s.refusals[0]
	s.refusals = s.refusals[1:]
	return answer
}

func (s *Server) keep(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, Mail{From: m.Header.Get("From"), To: m.Header.Get("To"), Subject: subject, Text: string(text)})
	return nil
}
