package accounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
)

// A process of its own has its own authorities, as an operator's has.
func TestMailsGoThroughAServerWithTLSAndALogIn(t *testing.T) {
	t.Parallel()
	certificate := mailtest.NewCertificate(t, "mail.example.com")
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, certificate.Authority, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, implicit := range []bool{false, true} {
		server := mailtest.ServeWith(t, mailtest.Options{
			Certificate: certificate, Implicit: implicit, User: "gateway", Password: "mail-password", Mechanism: "PLAIN",
		})
		start := func(url string) *gatewaytest.Process {
			return gatewaytest.Launch(t, nil, "SIMULATOR=true", gatewaytest.JWTSecret, "SSL_CERT_FILE="+authority, "SMTP_URL="+url,
				"SMTP_FROM=gateway@example.com")
		}
		p := start(server.URL)
		if a := p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "POST", "/auth/verify", `{"token":"`+server.Await(t, 1).Token()+`","new_password":"correct horse battery"}`); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		refused := start(strings.Replace(server.URL, "mail-password", "another", 1))
		if a := refused.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount); a.Status != 201 { // the caller does not wait for the mail
			t.Errorf("%d %s", a.Status, a.Body)
		}
		gatewaytest.Until(t, "logged", func() bool {
			return strings.Contains(refused.Log.String(),
				"the server answered 535: the user, the password or the connection of SMTP_URL is refused")
		})
		if strings.Contains(refused.Log.String(), "another") || len(server.Mails()) != 1 {
			t.Errorf("%d mails, log: %s", len(server.Mails()), refused.Log)
		}
	}
}
