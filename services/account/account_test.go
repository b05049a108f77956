package account

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/tests/servertest"
)

// testService is where people register and log in, over an empty database.
type testService struct {
	*Service
	clock   *clock
	options Options
	exec    func(t *testing.T, query string) // past the store
}

// invite makes an invitation as admin.Service does.
func (d *testService) invite(t *testing.T, in Invitation) (*Link, error) {
	t.Helper()
	return d.link(t, func(tx *models.Transaction) (*Link, error) { return d.Invite(tx, in) })
}

// resetLink makes a link that sets the password of a user as admin.Service does.
func (d *testService) resetLink(t *testing.T, userID string) (*Link, error) {
	t.Helper()
	return d.link(t, func(tx *models.Transaction) (*Link, error) {
		u, err := tx.User(userID)
		if err != nil {
			return nil, err
		}
		return d.ResetLink(tx, u, "usr_root")
	})
}

func (d *testService) link(t *testing.T, add func(*models.Transaction) (*Link, error)) (l *Link, err error) {
	t.Helper()
	err = d.store.Change(t.Context(), func(tx *models.Transaction) error {
		l, err = add(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, d.Deliver(l)
}

// eachService runs a test on both kinds of storage.
func eachService(t *testing.T, test func(t *testing.T, d *testService)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteService(t)) })
	t.Run("postgres", func(t *testing.T) {
		address := servertest.Postgres(t)
		test(t, newTestService(t, address, "pgx", address))
	})
}

func sqliteService(t testing.TB) *testService {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	return newTestService(t, "sqlite:"+path, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
}

const testIssuer = "https://gateway.example"

func newTestService(t testing.TB, address, driver, dsn string) *testService {
	t.Helper()
	store, err := models.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &testService{clock: &clock{november}}
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: []byte("the secret of this very gateway!"), Expiry: time.Hour, Issuer: testIssuer, Store: store, Now: d.clock.now,
	})
	d.options = Options{
		Store: store, Tokens: tokens, Now: d.clock.now, PublicURL: testIssuer, Secret: []byte("the secret of this very gateway!"),
		Admins: []string{"root@x.com"},
	}
	d.Service = New(d.options)
	d.exec = func(t *testing.T, query string) {
		t.Helper()
		result, err := db.ExecContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); n == 0 || err != nil {
			t.Fatalf("%s changed nothing: %v", query, err)
		}
	}
	return d
}

// with is the service with other options.
func (d *testService) with(change func(*Options)) *testService {
	other := *d
	change(&other.options)
	other.Service = New(other.options)
	return &other
}

const testPassword = "correct horse battery"

func (d *testService) register(t testing.TB, email string) *models.User {
	t.Helper()
	u, err := d.Register(t.Context(), Registration{Email: email, Password: testPassword, Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (d *testService) login(t testing.TB, email string) auth.Token {
	t.Helper()
	token, err := d.Login(t.Context(), email, testPassword, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRegisterAndLogin(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u, err := d.Register(t.Context(),
			Registration{Email: " Ada@X.com. ", Password: testPassword, Name: "  Ada \u00c9. Lovelace\u200d "})
		if err != nil {
			t.Fatal(err)
		}
		if u.Email != "ada@x.com" || u.Name != "Ada \u00c9. Lovelace\u200d" || len(u.ID) != 30 || !strings.HasPrefix(u.ID, "usr_") ||
			u.CreatedAt != november.UnixMicro() {
			t.Errorf("%+v", u)
		}
		if strings.Contains(u.PasswordHash, testPassword) {
			t.Error("the password is kept")
		}
		for _, email := range []string{"ada@x.com", "ADA@x.COM", " ada@x.com", "ada@x.com."} {
			token, err := d.Login(t.Context(), email, testPassword, "192.0.2.1")
			if err != nil {
				t.Errorf("%q: %v", email, err)
				continue
			}
			if id, err := d.tokens.Verify(t.Context(), token.Text); id != u.ID || err != nil {
				t.Errorf("%q: %q, %v", email, id, err)
			}
			if !token.ExpiresAt.Equal(november.Add(time.Hour)) {
				t.Errorf("the token ends %v", token.ExpiresAt)
			}
		}
	})
}

func TestRegistrationsAreCheckedInOrder(t *testing.T) {
	d := sqliteService(t)
	d.domains = []string{"x.com"}
	d.register(t, "taken@x.com")
	const good, missing = "ada@x.com", api.CodeMissingField
	long := strings.Repeat("n", 201)
	for _, tt := range []struct {
		email, password, name string
		status                int
		code, param           string
	}{
		{"", "", "", 400, missing, "email"},
		{"nonsense", "", "", 400, missing, "password"},
		{"nonsense", "short", "", 400, missing, "name"},
		{"nonsense", "short", " \t ", 400, missing, "name"},
		{"nonsense", "short", "n", 400, api.CodeInvalidEmail, "email"},
		{"   ", "short", "n", 400, api.CodeInvalidEmail, "email"},
		{"a@evil.com", "short", "n", 403, api.CodeDomainNotAllowed, "email"},
		{"a@x.com.evil.com", testPassword, "n", 403, api.CodeDomainNotAllowed, "email"},
		{good, "short", long, 400, api.CodeWeakPassword, "password"},
		{"taken@x.com", "short", "n", 400, api.CodeWeakPassword, "password"},
		{"taken@x.com", strings.Repeat("x", 1<<20), "n", 400, api.CodeWeakPassword, "password"},
		{"taken@x.com", testPassword, long, 400, api.CodeInvalidValue, "name"},
		{good, testPassword, "a\x00b", 400, api.CodeInvalidValue, "name"},
		{good, testPassword, "a\r\nb", 400, api.CodeInvalidValue, "name"},
		{good, testPassword, "a\u202eb", 400, api.CodeInvalidValue, "name"},
		{good, testPassword, "a\xffb", 400, api.CodeInvalidValue, "name"},
		{" Taken@X.com", testPassword, "n", 409, api.CodeEmailTaken, "email"},
		{good, testPassword, long[1:], 0, "", ""},
	} {
		_, err := d.Register(t.Context(), Registration{Email: tt.email, Password: tt.password, Name: tt.name})
		e, _ := errors.AsType[*api.Error](err)
		if e == nil {
			e = &api.Error{}
		}
		if e.Status != tt.status || e.Code != tt.code || e.Param != tt.param || (err == nil) != (tt.status == 0) {
			t.Errorf("%q %.20q %.20q: %v", tt.email, tt.password, tt.name, err)
		}
		if want := map[int]string{400: api.TypeInvalidRequest, 403: api.TypePermission, 409: api.TypeInvalidRequest}[tt.status]; e.Type != want {
			t.Errorf("%q: type %q", tt.email, e.Type)
		}
	}
}

func TestParallelRegistrationsOfOneAddressMakeOneAccount(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		const crowd = 50
		var all sync.WaitGroup
		results := make(chan error, crowd)
		for i := range crowd {
			email := []string{"ada@x.com", "ADA@x.com", " ada@X.com", "ada@x.com."}[i%4]
			all.Go(func() {
				_, err := d.Register(t.Context(), Registration{
					Email: email, Password: testPassword, Name: "Ada", Address: fmt.Sprint("192.0.2.", i),
				})
				results <- err
			})
		}
		all.Wait()
		close(results)
		count := map[string]int{}
		for err := range results {
			count[code(err)]++
			if code(err) == "" && err != nil {
				t.Error(err)
			}
		}
		if count[""] != 1 || count[api.CodeEmailTaken] != crowd-1 {
			t.Errorf("%v", count)
		}
		d.login(t, "ada@x.com")
	})
}

func TestWithoutTheDatabaseAccountsAre503(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		d.register(t, "ada@x.com")
		token := d.login(t, "ada@x.com")
		if err := d.store.Close(); err != nil {
			t.Fatal(err)
		}
		_, registerErr := d.Register(t.Context(), Registration{Email: "eve@x.com", Password: testPassword, Name: "Eve"})
		_, loginErr := d.Login(t.Context(), "ada@x.com", testPassword, "192.0.2.1")
		_, verifyErr := d.tokens.Verify(t.Context(), token.Text)
		for what, err := range map[string]error{"register": registerErr, "login": loginErr, "verify": verifyErr} {
			if e := api.AsError(err); e.Status != 503 || e.Code != api.CodeServiceUnavailable || e.RetryAfter == 0 {
				t.Errorf("%s: %v", what, err)
			}
		}
		for range 2 * mostFailures { // and is not counted as a failure of the user
			if _, err := d.Login(t.Context(), "ada@x.com", testPassword, "192.0.2.1"); code(err) != api.CodeServiceUnavailable {
				t.Fatal(err)
			}
		}
	})
}

func TestANewPasswordReplacesTheOldOne(t *testing.T) {
	eachService(t, func(t *testing.T, d *testService) {
		u := d.register(t, "ada@x.com")
		d.exec(t, fmt.Sprintf("UPDATE users SET password_hash = '%s' WHERE id = '%s'", hashPassword("another password"), u.ID))
		if _, err := d.Login(t.Context(), "ada@x.com", testPassword, "192.0.2.1"); code(err) != api.CodeInvalidCredentials {
			t.Errorf("the old password: %v", err)
		}
		again, err := d.Login(t.Context(), "ada@x.com", "another password", "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		if id, err := d.tokens.Verify(t.Context(), again.Text); id != u.ID || err != nil {
			t.Errorf("a new login: %q, %v", id, err)
		}
	})
}
