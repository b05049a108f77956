package account

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/mail"
	"modelgateway/services/mail/mailtest"
)

// mailing is the service with a mail server.
func (d *testService) mailing(t *testing.T) (*testService, *mailtest.Server) {
	t.Helper()
	server := mailtest.Serve(t)
	queue, err := mail.New(mail.Options{URL: server.URL, From: "gateway@x.com", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { queue.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return d.with(func(o *Options) { o.Mail = queue }), server
}

func TestANewUserVerifiesTheAddress(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		d, server := d.mailing(t)
		u := d.register(t, "ada@x.com")
		m := server.Await(t, 1)
		if !strings.Contains(m.To, "ada@x.com") || purposeOf(m.Token()) != models.PurposeVerify {
			t.Fatalf("%+v", m)
		}
		if _, err := d.ResetPassword(t.Context(), PasswordReset{Token: m.Token(), New: newPassword, Address: here}); code(err) != api.CodeInvalidLink {
			t.Errorf("a verification resets the password: %v", err)
		}
		if v, err := d.Verify(t.Context(), PasswordReset{Token: m.Token(), New: newPassword, Address: here}); err != nil || v.ID != u.ID || d.user(t, u.ID).VerifiedAt == 0 {
			t.Errorf("%v", err)
		}
		if _, err := d.Verify(t.Context(), PasswordReset{Token: m.Token(), New: newPassword, Address: here}); code(err) != api.CodeInvalidLink {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestAMailedInvitationVerifiesTheAddressAndIsNotHandedOver(t *testing.T) {
	d, server := sqliteService(t).mailing(t)
	l, err := d.invite(t, Invitation{Email: "bob@x.com", By: "usr_manager"})
	if err != nil || l.URL != "" {
		t.Fatalf("%+v %v", l, err)
	}
	token := server.Await(t, 1).Token()
	u, err := d.Register(t.Context(), Registration{Email: "bob@x.com", Password: testPassword, Name: "B", Address: here, Invitation: token})
	if err != nil || u.VerifiedAt == 0 {
		t.Errorf("%+v %v", u, err)
	}
}

func TestForgottenPasswordsGetAFewMails(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		d, server := d.mailing(t)
		visitor := &models.User{ID: "usr_v", Email: "visitor@x.com", Name: "V", CreatedAt: 1}
		if err := d.store.CreateUser(t.Context(), visitor); err != nil {
			t.Fatal(err)
		}
		for range mostResets + 2 {
			for _, email := range []string{" ADA@x.com", "nobody@x.com", "visitor@x.com"} {
				if err := d.Forgot(email); err != nil {
					t.Errorf("%s: %v", email, err)
				}
			}
		}
		server.Await(t, mostResets)
		if err := d.Forgot("last@x.com"); err != nil { // and a moment for mails that must not come
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		mails := server.Mails()
		if len(mails) != mostResets {
			t.Errorf("%d mails: %+v", len(mails), mails)
		}
		for _, m := range mails {
			if !strings.Contains(m.To, "ada@x.com") {
				t.Errorf("%+v", m)
			}
		}
		if _, err := d.ResetPassword(t.Context(), PasswordReset{Token: mails[1].Token(), New: newPassword, Address: here}); err != nil {
			t.Error(err)
		}
		if d.user(t, u.ID).VerifiedAt == 0 {
			t.Error("the mail has not proven the address")
		}
	})
}

// Nothing is looked up before the answer, which is then the same, at the same time, for
// every address: also while the database is gone.
func TestForgotAsksNothingOfTheDatabase(t *testing.T) {
	d, _ := sqliteService(t).mailing(t)
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Forgot("ada@x.com"); err != nil {
		t.Error(err)
	}
}

func TestSetUpMakesOneAdministrator(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		d = d.with(func(o *Options) { o.Registration = RegistrationClosed })
		link, err := d.SetupLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.with(func(*Options) {}).SetupLink(t.Context()); err != nil || again != link {
			t.Errorf("another start shows %q: %v", again, err)
		}
		setUp := func(token, email string) (*models.User, error) {
			r := Registration{Email: email, Password: testPassword, Name: "R", Address: email}
			return d.Setup(t.Context(), Setup{Token: token, Registration: r, RequestID: "req", Client: here})
		}
		if _, err := setUp("mgw_setup_AAAA", "root@x.com"); code(err) != api.CodeInvalidSetupToken {
			t.Errorf("%v", err)
		}
		var all sync.WaitGroup
		var won atomic.Int64
		for i := range 4 {
			all.Go(func() {
				u, err := setUp(tokenOf(t, link), fmt.Sprintf("root%d@x.com", i))
				switch {
				case err == nil && u.AdminAt != 0 && u.VerifiedAt != 0:
					won.Add(1)
				case code(err) != api.CodeInvalidSetupToken:
					t.Errorf("%+v %v", u, err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d became administrators", won.Load())
		}
		if link, err := d.SetupLink(t.Context()); err != nil || link != "" {
			t.Errorf("with an administrator: %q %v", link, err)
		}
		if rows, err := d.store.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 9}); err != nil || len(rows) != 1 || rows[0].Action != "user.setup" {
			t.Errorf("%+v %v", rows, err)
		}
	})
}

// A token of the log is of no use any more once there is an administrator by another way.
func TestSetUpEndsWithTheFirstAdministrator(t *testing.T) {
	d := sqliteService(t)
	link, err := d.SetupLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.register(t, "root@x.com") // of ADMIN_EMAILS, but not proven
	if again, err := d.SetupLink(t.Context()); err != nil || again != link {
		t.Errorf("an address that is not proven: %q %v", again, err)
	}
	d.exec(t, "UPDATE users SET verified_at = 5 WHERE email = 'root@x.com'")
	_, err = d.Setup(t.Context(), Setup{Token: tokenOf(t, link), Registration: Registration{Email: "e@x.com", Password: testPassword, Name: "E"}})
	if code(err) != api.CodeInvalidSetupToken {
		t.Errorf("%v", err)
	}
}
