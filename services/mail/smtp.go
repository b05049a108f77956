package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	smtp "github.com/wneessen/go-mail"
)

// Options are what a Queue needs.
type Options struct {
	URL  string // smtp://user:password@host:port, or smtps://
	From string // an address, with or without a name
	Log  *slog.Logger
	TLS  *tls.Config // nil: the usual one; tests have certificates of their own

	timeout time.Duration                                                   // of one try; 0: sendTimeout
	dial    func(ctx context.Context, network, at string) (net.Conn, error) // nil: the usual one
}

// New returns a Queue for a server, which it does not call yet. The errors show nothing
// of the URL.
func New(o Options) (*Queue, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	if err := smtp.NewMsg().From(o.From); err != nil {
		return nil, errors.New("SMTP_FROM is not an e-mail address")
	}
	send := func(ctx context.Context, m *Message) error { return o.send(ctx, client, m) }
	return &Queue{send: send, log: o.Log, pause: 2 * time.Second, jobs: make(chan Job, mostWaiting)}, nil
}

// The usual ports: RFC 6409 and RFC 8314.
const (
	portSubmission = 587
	portTLS        = 465
)

func (o Options) client() (*smtp.Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("SMTP_URL is not a URL") // the cause may quote the password
	}
	port := portSubmission
	options := []smtp.Option{smtp.WithTimeout(cmp.Or(o.timeout, sendTimeout))}
	if o.dial != nil {
		options = append(options, smtp.WithDialContextFunc(o.dial))
	}
	switch {
	case u.Scheme == "smtps":
		port, options = portTLS, append(options, smtp.WithSSL())
	case onThisMachine(u.Hostname()):
		options = append(options, smtp.WithTLSPolicy(smtp.TLSOpportunistic))
	default:
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("SMTP_URL has no valid port")
		}
	}
	if o.TLS != nil {
		options = append(options, smtp.WithTLSConfig(o.TLS))
	}
	if password, ok := u.User.Password(); ok {
		options = append(options, smtp.WithSMTPAuth(smtp.SMTPAuthAutoDiscover),
			smtp.WithUsername(u.User.Username()), smtp.WithPassword(password))
	}
	client, err := smtp.NewClient(u.Hostname(), append(options, smtp.WithPort(port))...)
	if err != nil {
		return nil, errors.New("SMTP_URL is not the URL of a server")
	}
	return client, nil
}

// onThisMachine says whether a host is this machine, where mails may travel without
// TLS.
func onThisMachine(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

func (o Options) send(ctx context.Context, client *smtp.Client, m *Message) error {
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(o.From), msg.To(m.To)); err != nil {
		return errors.New("the address is not accepted") // not shown: addresses do not belong in a log
	}
	msg.Subject(m.Subject)
	msg.SetDate()
	msg.SetMessageID()
	msg.SetBodyString(smtp.TypeTextPlain, m.Text)
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return readable(err)
	}
	return nil
}

// sendError says why a mail was not sent, without the address of the mail and what else
// the library quotes.
type sendError struct {
	reason string
	code   int   // of the server; 0: it gave none
	cause  error // nil: there is no more to say
}

func (e *sendError) Error() string {
	text := e.reason
	if e.code != 0 {
		text = fmt.Sprintf("the server answered %d: %s", e.code, text)
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *sendError) Unwrap() error { return e.cause }

// readable returns what an operator has to know of an error of the library. Some it
// tells only by their texts (go-mail v0.8.1: client.go, senderror.go).
func readable(err error) error {
	if e, ok := errors.AsType[*smtp.SendError](err); ok {
		if e.ErrorCode() == 0 && strings.Contains(err.Error(), os.ErrDeadlineExceeded.Error()) {
			return tooSlow()
		}
		return &sendError{reason: e.Reason.String(), code: e.ErrorCode()}
	}
	// Before a mail is sent only the log-in has answers that are refused.
	if e, ok := errors.AsType[*textproto.Error](err); ok {
		return &sendError{reason: "the user, the password or the connection of SMTP_URL is refused: " + e.Msg, code: e.Code}
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &sendError{reason: "the server's certificate is not trusted", cause: e.Err}
	}
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout():
		return tooSlow()
	case errors.Is(err, smtp.ErrNoSupportedAuthDiscovered) || strings.Contains(err.Error(), "does not support SMTP AUTH"):
		return &sendError{reason: "SMTP_URL has a password, and the server offers no way to log in with it that the gateway knows"}
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return &sendError{reason: "the server offers no STARTTLS, without which no mail leaves this machine: smtps:// may be the right scheme"}
	}
	return &sendError{reason: "the connection failed", cause: err}
}

func tooSlow() error { return &sendError{reason: "the server does not answer in time"} }

// final says whether another try would get the same answer: the server has refused the
// mail or the log-in for good (RFC 5321, 4.2.1: 5yz).
func final(err error) bool {
	e, ok := errors.AsType[*sendError](err)
	return ok && e.code >= 500
}
