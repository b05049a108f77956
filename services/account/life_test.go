package account

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
)

const (
	here        = "192.0.2.1"
	newPassword = "battery horse correct"
)

// tokenOf is the token of a link.
func tokenOf(t testing.TB, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(link, testIssuer+LinkPath+"#token=mgw_") {
		t.Fatalf("%q is no link: %v", link, err)
	}
	return strings.TrimPrefix(u.Fragment, "token=")
}

func (d *testService) valid(token auth.Token) bool {
	_, err := d.tokens.Verify(context.Background(), token.Text)
	return err == nil
}

func (d *testService) user(t testing.TB, id string) *models.User {
	t.Helper()
	u, err := d.store.User(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAChangeOfThePasswordEndsTheOtherTokens(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		former := d.login(t, "ada@x.com")
		for name, c := range map[string]struct {
			change PasswordChange
			code   string
		}{
			"wrong":     {PasswordChange{u.ID, "wrong password", newPassword, here}, api.CodeInvalidCredentials},
			"short":     {PasswordChange{u.ID, testPassword, "short", here}, api.CodeWeakPassword},
			"none":      {PasswordChange{u.ID, testPassword, "", here}, api.CodeMissingField},
			"no old":    {PasswordChange{u.ID, "", newPassword, here}, api.CodeMissingField},
			"deleted":   {PasswordChange{"usr_x", testPassword, newPassword, here}, api.CodeInvalidToken},
			"another's": {PasswordChange{d.register(t, "bob@x.com").ID, newPassword, newPassword, here}, api.CodeInvalidCredentials},
		} {
			_, err := d.ChangePassword(t.Context(), c.change)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Code != c.code {
				t.Fatalf("%s: %v", name, err)
			}
			if wrong := e.Code == api.CodeInvalidCredentials; wrong &&
				(e.Status != 401 || e.Message != "current_password is wrong" || e.Param != "current_password") {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if !d.valid(former) {
			t.Error("a change that is refused ended a token")
		}
		next, err := d.ChangePassword(t.Context(), PasswordChange{u.ID, testPassword, newPassword, here})
		if err != nil {
			t.Fatal(err)
		}
		if d.valid(former) || !d.valid(next) {
			t.Errorf("the former token is valid: %v, the new one: %v", d.valid(former), d.valid(next))
		}
		if _, err := d.Login(t.Context(), "ada@x.com", testPassword, here); code(err) != api.CodeInvalidCredentials {
			t.Errorf("the former password: %v", err)
		}
		if _, err := d.Login(t.Context(), "ada@x.com", newPassword, here); err != nil {
			t.Errorf("the new password: %v", err)
		}
	})
}

func TestOneOfTwoChangesAtOnceWins(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		var all sync.WaitGroup
		var won atomic.Int64
		for i := range 4 {
			all.Go(func() {
				_, err := d.ChangePassword(t.Context(), PasswordChange{u.ID, testPassword, fmt.Sprint("new password ", i), here})
				switch {
				case err == nil:
					won.Add(1)
				case code(err) != api.CodeInvalidCredentials:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 || d.user(t, u.ID).Generation != 2 {
			t.Errorf("%d won, generation %d", won.Load(), d.user(t, u.ID).Generation)
		}
	})
}

func TestGuessesOfTheCurrentPasswordAreLimitedAsLogins(t *testing.T) {
	d := sqliteService(t)
	u := d.register(t, "ada@x.com")
	for range mostFailures {
		if _, err := d.ChangePassword(t.Context(), PasswordChange{u.ID, "a wrong one", newPassword, here}); code(err) != api.CodeInvalidCredentials {
			t.Fatal(err)
		}
	}
	if _, err := d.ChangePassword(t.Context(), PasswordChange{u.ID, testPassword, newPassword, here}); code(err) != api.CodeRateLimitExceeded {
		t.Errorf("a change: %v", err)
	}
	if _, err := d.Login(t.Context(), "ada@x.com", testPassword, here); code(err) != api.CodeRateLimitExceeded {
		t.Errorf("a login: %v", err)
	}
}

func TestLogoutEndsOneTokenOrAll(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		one, two, three := d.login(t, "ada@x.com"), d.login(t, "ada@x.com"), d.login(t, "ada@x.com")
		if err := d.Logout(t.Context(), one.Text); err != nil {
			t.Fatal(err)
		}
		if d.valid(one) || !d.valid(two) {
			t.Error("not exactly the token of the request ended")
		}
		if err := d.LogoutEverywhere(t.Context(), u.ID); err != nil {
			t.Fatal(err)
		}
		if d.valid(two) || d.valid(three) || !d.valid(d.login(t, "ada@x.com")) {
			t.Error("not exactly all tokens ended")
		}
	})
}

func TestRegistrationByInvitation(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		closed := d.with(func(o *Options) { o.Registration = RegistrationClosed })
		invite := d.with(func(o *Options) { o.Registration = RegistrationInvite })
		link := func(in Invitation) string {
			l, err := d.invite(t, in)
			if err != nil {
				t.Fatal(err)
			}
			return tokenOf(t, l.URL)
		}
		try := func(s *testService, email, invitation string) (*models.User, string) {
			u, err := s.Register(t.Context(), Registration{Email: email, Password: testPassword, Name: "N", Address: here, Invitation: invitation})
			return u, code(err)
		}
		open := link(Invitation{By: "usr_root", Vouched: true})
		for _, tt := range []struct {
			s                       *testService
			email, invitation, code string
		}{
			{closed, "a@x.com", "", api.CodeRegistrationClosed}, {closed, "a@x.com", open, api.CodeRegistrationClosed},
			{invite, "a@x.com", "", api.CodeInvitationRequired}, {invite, "a@x.com", "mgw_invite_AAAA", api.CodeInvalidInvitation},
			{invite, "a@x.com", strings.ToLower(open), api.CodeInvalidInvitation}, {invite, "not an address", open, api.CodeInvalidEmail},
		} {
			if _, got := try(tt.s, tt.email, tt.invitation); got != tt.code {
				t.Errorf("%+v: %s", tt, got)
			}
		}
		if u, got := try(invite, "a@x.com", open); got != "" || u.VerifiedAt != 0 {
			t.Errorf("%s %+v", got, u)
		}
		if _, got := try(invite, "b@x.com", open); got != api.CodeInvalidInvitation {
			t.Errorf("a second use: %s", got)
		}
		vouched, handed := link(Invitation{Email: " C@X.com", Vouched: true}), link(Invitation{Email: "m@x.com"})
		if _, got := try(invite, "b@x.com", vouched); got != api.CodeInvalidInvitation {
			t.Errorf("another address: %s", got)
		}
		if u, got := try(invite, "c@x.com", vouched); got != "" || u.VerifiedAt == 0 {
			t.Errorf("an administrator's: %s %+v", got, u)
		}
		if u, got := try(invite, "m@x.com", handed); got != "" || u.VerifiedAt != 0 {
			t.Errorf("a manager's proves no address: %s %+v", got, u)
		}
		if _, err := d.invite(t, Invitation{Email: "c@x.com"}); code(err) != api.CodeEmailTaken {
			t.Errorf("an address with an account: %v", err)
		}
		late := link(Invitation{})
		d.clock.at = d.clock.at.Add(inviteDuration)
		if _, got := try(invite, "d@x.com", late); got != api.CodeInvalidInvitation {
			t.Errorf("one that is over: %s", got)
		}
	})
}

func TestOneOfManyWithOneInvitationRegisters(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		l, err := d.invite(t, Invitation{})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var won atomic.Int64
		for i := range 6 {
			all.Go(func() {
				_, err := d.Register(t.Context(), Registration{
					Email: fmt.Sprintf("u%d@x.com", i), Password: testPassword, Name: "N", Address: fmt.Sprint(i), Invitation: tokenOf(t, l.URL),
				})
				switch {
				case err == nil:
					won.Add(1)
				case code(err) != api.CodeInvalidInvitation:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d registered", won.Load())
		}
	})
}

func TestALinkOfAnAdministratorSetsAPassword(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		former := d.login(t, "ada@x.com")
		link := func() string {
			l, err := d.resetLink(t, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			return tokenOf(t, l.URL)
		}
		reset := func(token, password string) error {
			_, err := d.ResetPassword(t.Context(), PasswordReset{Token: token, New: password, Address: here})
			return err
		}
		one, two := link(), link()
		for token, want := range map[string]string{"": api.CodeMissingField, "mgw_reset_AAAA": api.CodeInvalidLink} {
			if err := reset(token, newPassword); code(err) != want {
				t.Errorf("%q: %v", token, err)
			}
		}
		if err := reset(one, "short"); code(err) != api.CodeWeakPassword {
			t.Errorf("%v", err)
		}
		if err := reset(one, newPassword); err != nil {
			t.Fatal(err)
		}
		for _, used := range []string{one, two} {
			if err := reset(used, testPassword); code(err) != api.CodeInvalidLink {
				t.Errorf("after a reset: %v", err)
			}
		}
		if d.valid(former) {
			t.Error("the former token is valid")
		}
		if _, err := d.Login(t.Context(), "ada@x.com", newPassword, here); err != nil || d.user(t, u.ID).VerifiedAt == 0 {
			t.Errorf("%v", err)
		}
		disabled := link()
		d.exec(t, "UPDATE users SET disabled_at = 5 WHERE email = 'ada@x.com'")
		if err := reset(disabled, testPassword); code(err) != api.CodeInvalidLink {
			t.Errorf("disabled: %v", err)
		}
	})
}
