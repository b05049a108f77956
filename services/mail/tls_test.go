package mail

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"modelgateway/services/mail/mailtest"
)

// onHost has a queue call the server by this name, as if it were another machine.
func onHost(o *Options, host string) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return
	}
	address := u.Host
	u.Host = host + ":" + u.Port()
	o.URL = u.String()
	o.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if o.TLS != nil {
		o.TLS.ServerName = host
	}
}

// sendOnce sends a mail to a server and returns the error, which is logged as it is.
func sendOnce(t *testing.T, s *mailtest.Server, change func(*Options)) error {
	t.Helper()
	o := Options{URL: s.URL, From: "gateway@example.com", Log: slog.New(slog.DiscardHandler)}
	change(&o)
	q, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := message("ada@example.com")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q.once(t.Context(), m)
}

func TestMailsGoThroughTLSWithALogIn(t *testing.T) {
	const host = "mail.example.com"
	certificate := mailtest.NewCertificate(t, host)
	for _, implicit := range []bool{false, true} {
		for _, mechanism := range []string{"PLAIN", "LOGIN"} {
			s := mailtest.ServeWith(t, mailtest.Options{
				Certificate: certificate, Implicit: implicit, User: "gateway", Password: "p%40ss", Mechanism: mechanism,
			})
			s.URL = strings.Replace(s.URL, "p%40ss", "p%2540ss", 1)
			err := sendOnce(t, s, func(o *Options) {
				if o.TLS = certificate.Trusting(); implicit {
					o.TLS.ServerName = "127.0.0.1" // the library takes a dialer's connection for one without TLS
				} else {
					onHost(o, host)
				}
			})
			if logins := s.Logins(); err != nil || len(s.Mails()) != 1 || len(logins) != 1 || logins[0] != mechanism {
				t.Errorf("%s: %v, %d mails, logins %v", s.URL, err, len(s.Mails()), logins)
			}
		}
	}
}

func TestAServerThatCannotBeUsedIsNamedInTheLog(t *testing.T) {
	const host = "mail.example.com"
	certificate := mailtest.NewCertificate(t, host)
	user := mailtest.Options{Certificate: certificate, User: "gateway", Password: "SECRET", Mechanism: "PLAIN"}
	trusted := func(o *Options) { o.TLS = certificate.Trusting(); onHost(o, host) }
	change := func(change func(*mailtest.Options)) mailtest.Options { o := user; change(&o); return o }
	for name, tt := range map[string]struct {
		server mailtest.Options
		client func(*Options)
		want   string
		final  bool
	}{
		"no TLS": {change(func(o *mailtest.Options) { o.Certificate, o.WithoutTLS = nil, true }), trusted, "offers no STARTTLS", false},
		"no TLS on this machine": {
			change(func(o *mailtest.Options) { o.Certificate, o.WithoutTLS = nil, true }), func(*Options) {},
			"no way to log in", false,
		},
		"no log-in": {
			mailtest.Options{Certificate: certificate}, func(o *Options) {
				trusted(o)
				o.URL = strings.Replace(o.URL, "smtp://", "smtp://gateway:SECRET@", 1)
			}, "no way to log in", false,
		},
		"an unknown authority":     {user, func(o *Options) { onHost(o, host) }, "certificate is not trusted: x509: ", false},
		"a certificate of another": {user, func(o *Options) { o.TLS = certificate.Trusting(); onHost(o, "smtp.example.com") }, "not smtp.example.com", false},
		"an implicit one of another": {
			change(func(o *mailtest.Options) { o.Implicit = true }), func(*Options) {}, "certificate is not trusted: x509: ", false,
		},
		"a refused password": {
			user, func(o *Options) { trusted(o); o.URL = strings.Replace(o.URL, "SECRET", "SECRET2", 1) },
			"answered 535: the user, the password or the connection of SMTP_URL is refused", true,
		},
		"TLS where there is none": {change(func(o *mailtest.Options) { o.Certificate = nil }), func(o *Options) {
			o.URL = strings.Replace(o.URL, "smtp:", "smtps:", 1)
		}, "the connection failed: ", false},
		"a slow one": {change(func(o *mailtest.Options) { o.Delay = 100 * time.Millisecond }), func(o *Options) {
			trusted(o)
			o.timeout = 50 * time.Millisecond
		}, "does not answer in time", false},
		"none of these": {user, trusted, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := sendOnce(t, mailtest.ServeWith(t, tt.server), tt.client)
			if tt.want == "" {
				if err != nil {
					t.Errorf("the same server is refused when nothing is wrong: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("sent")
			}
			text := err.Error()
			if !strings.Contains(text, tt.want) || strings.Contains(text, "SECRET") || strings.Contains(text, "ada@") || final(err) != tt.final {
				t.Errorf("%v; final: %v", text, final(err))
			}
		})
	}
}
