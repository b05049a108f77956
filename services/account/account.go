// Package account registers users and logs them in with their password.
package account

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/mail"
)

// Service registers users with a password and logs them in.
type Service struct {
	store        *models.Store
	tokens       *auth.Tokens
	domains      []string
	registration string
	publicURL    string
	admins       []string
	secret       []byte
	mail         *mail.Queue // nil: the gateway sends no mail
	now          func() time.Time
	failures     *failures
	hashing      *hashQueue
}

// Who may register, as config.Config has it.
const (
	RegistrationOpen   = "open"
	RegistrationInvite = "invite" // with an invitation
	RegistrationClosed = "closed"
)

// Options is what the service needs.
type Options struct {
	Store        *models.Store
	Tokens       *auth.Tokens
	Domains      []string     // e-mail domains that may register; none: all
	Registration string       // empty is RegistrationOpen
	PublicURL    string       // of links, without a slash at its end
	Admins       []string     // normalised addresses of ADMIN_EMAILS
	Secret       []byte       // from which the token of the set-up is derived; the same on every replica
	Mail         *mail.Queue  // nil: the gateway sends no mail
	Redis        models.Redis // counts failed logins for all replicas; nil: each counts for itself
	Now          func() time.Time
}

// mostWaiting is how many logins and registrations may wait for the hash of
// their password: some seconds of work.
const mostWaiting = 64

// New returns a Service that hashes passwords on half of the cores, and never
// more than two at once.
func New(o Options) *Service {
	workers := min(max(runtime.GOMAXPROCS(0)/2, 1), 2)
	return &Service{
		store: o.Store, tokens: o.Tokens, domains: o.Domains, registration: o.Registration, publicURL: o.PublicURL,
		admins: o.Admins, secret: o.Secret, mail: o.Mail, now: o.Now,
		failures: newFailures(o.Redis, o.Now), hashing: newHashQueue(mostWaiting, int64(workers)),
	}
}

// Registration is a request for an account.
type Registration struct {
	Email    string
	Password string
	Name     string
	Address  string // of the client, as auth.Caller has it

	Invitation string // a one-time token; empty: none
	RequestID  string
}

// Register adds an account. It reports the first fault in this order: closed
// registration and a missing invitation, a missing field, the e-mail address, its
// domain, the password, the name, and an address that is taken. An invitation that is
// not valid comes before the fields.
func (a *Service) Register(ctx context.Context, r Registration) (*models.User, error) {
	switch {
	case a.registration == RegistrationClosed:
		return nil, registrationClosed()
	case a.registration == RegistrationInvite && r.Invitation == "":
		return nil, invitationRequired()
	}
	if r.Invitation != "" {
		if err := a.check(ctx, models.PurposeInvite, r.Invitation); err != nil {
			return nil, err
		}
	}
	r, hash, err := a.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Invitation != "" {
		return a.registerInvited(ctx, r, hash)
	}
	u := &models.User{}
	a.newUser(u, r, hash)
	err = a.store.CreateUser(ctx, u)
	if errors.Is(err, models.ErrTaken) {
		return nil, emailTaken()
	}
	if err != nil {
		return nil, api.Unavailable(err)
	}
	a.sendVerification(u)
	return u, nil
}

// registerInvited registers with an invitation. Its use and the new user are one
// transaction: of two who register with it at the same time one becomes a user. An account
// that another person has registered with the address without proof becomes the invited one's.
func (a *Service) registerInvited(ctx context.Context, r Registration, hash string) (*models.User, error) {
	u, err := a.use(ctx, models.PurposeInvite, r.Invitation, func(t *models.OneTimeToken, u *models.User) (*models.Audit, error) {
		if t.Email != "" && t.Email != r.Email {
			return nil, otherInvitee()
		}
		if u.ID != "" {
			if !a.adoptable(u) {
				return nil, models.ErrTaken
			}
			row, err := a.markProven(t, u, r.RequestID)
			u.Name, u.PasswordHash, u.Generation = r.Name, hash, u.Generation+1
			return row, err
		}
		a.newUser(u, r, hash)
		if t.ProvesEmail && t.Email == u.Email {
			u.VerifiedAt = a.now().UnixMicro()
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	a.tokens.Forget(u.ID)
	a.sendVerification(u)
	return u, nil
}

// prepare validates a registration and returns its normal form with the hash of its
// password.
func (a *Service) prepare(ctx context.Context, r Registration) (normal Registration, hash string, err error) {
	if r, err = a.normalize(r); err != nil {
		return r, "", err
	}
	leave, err := a.hashing.join(r.Address)
	if err != nil {
		return r, "", err
	}
	defer leave()
	// Before the wait, so that a database that is down delays no other caller.
	free := func() error {
		u, err := a.store.UserByEmail(ctx, r.Email)
		return a.checkFree(u, err, r.Invitation != "")
	}
	if err := free(); err != nil {
		return r, "", err
	}
	hash, err = a.hashIf(ctx, r.Password, free)
	return r, hash, err
}

// normalize validates the registration and returns its normal form.
func (a *Service) normalize(r Registration) (Registration, error) {
	r.Name = strings.TrimSpace(r.Name)
	for _, field := range []struct{ name, text string }{{"email", r.Email}, {"password", r.Password}, {"name", r.Name}} {
		if field.text == "" {
			return r, missingField(field.name)
		}
	}
	email, err := a.allowedEmail(r.Email)
	if err != nil {
		return r, err
	}
	if err := checkPassword("password", r.Password); err != nil {
		return r, err
	}
	r.Email = email
	return r, checkName(r.Name)
}

// allowedEmail returns the normal form of an address with which a user may register.
func (a *Service) allowedEmail(text string) (string, error) {
	email, err := NormalEmail(text)
	if err == nil && !DomainAllowed(email, a.domains) {
		return "", domainRefused()
	}
	return email, err
}

const longestName = 200 // bytes

func checkName(name string) error {
	if len(name) > longestName {
		return api.Invalid(api.CodeInvalidValue, "name", "name must have at most %d bytes", longestName)
	}
	return api.CheckVisible("name", name)
}

// hash returns the hash of a password when it is its turn.
func (a *Service) hash(ctx context.Context, password string) (string, error) {
	return a.hashIf(ctx, password, func() error { return nil })
}

// hashIf is hash unless still, which it calls then, returns an error. Of many
// registrations of one address at once, most fail there without the cost of a hash.
func (a *Service) hashIf(ctx context.Context, password string, still func() error) (string, error) {
	release, err := a.hashing.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if err := still(); err != nil {
		return "", err
	}
	return hashPassword(password), nil
}

// checkFree checks the result of a look-up of an address: it refuses one that has an account. With
// an invitation it may be one that another person may have registered.
func (a *Service) checkFree(u *models.User, err error, invited bool) error {
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil
	case err != nil:
		return api.Unavailable(err)
	case invited && a.adoptable(u):
		return nil
	}
	return emailTaken()
}

// adoptable says whether the one who proves the address of an account first gets it.
func (a *Service) adoptable(u *models.User) bool {
	return a.mail != nil && u.VerifiedAt == 0 && u.DisabledAt == 0
}

// Login returns a token for the user with this address and password. An address
// that is unknown or malformed, or whose user has no password or is disabled, gets
// the same answer as a wrong password, after the same time.
func (a *Service) Login(ctx context.Context, email, password, address string) (auth.Token, error) {
	if email == "" {
		return auth.Token{}, missingField("email")
	}
	if password == "" {
		return auth.Token{}, missingField("password")
	}
	email, malformed := NormalEmail(email)
	tried := attempt{email: email, address: address}
	if err := a.failures.check(ctx, tried); err != nil {
		return auth.Token{}, err
	}
	leave, err := a.hashing.join(address)
	if err != nil {
		return auth.Token{}, err
	}
	defer leave()
	u := &models.User{}
	if malformed == nil {
		if u, err = a.store.UserByEmail(ctx, email); err != nil && !errors.Is(err, models.ErrNotFound) {
			return auth.Token{}, api.Unavailable(err)
		}
	}
	if err := a.compare(ctx, u, tried, password); err != nil {
		return auth.Token{}, err
	}
	return a.tokens.Issue(u)
}

// compare takes the same time for every user, and for the zero User, which stands
// for an unknown address.
func (a *Service) compare(ctx context.Context, u *models.User, tried attempt, password string) error {
	release, err := a.hashing.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Again, because guesses that were ahead in the queue have failed meanwhile.
	if err := a.failures.check(ctx, tried); err != nil {
		return err
	}
	hash := u.PasswordHash
	if hash == "" {
		hash = noPassword()
	}
	if matches := passwordMatches(hash, password); matches && u.PasswordHash != "" && u.DisabledAt == 0 {
		a.failures.succeeded(ctx, tried)
		return nil
	}
	if tried.email != "" {
		a.failures.add(ctx, tried)
	}
	return invalidCredentials()
}

func invalidCredentials() error {
	return api.Unauthorized(api.CodeInvalidCredentials, "the e-mail address or the password is wrong")
}

func registrationClosed() error {
	return api.Forbidden(api.CodeRegistrationClosed, "", "registration is closed here: an administrator creates accounts")
}

func invitationRequired() error {
	return api.Forbidden(api.CodeInvitationRequired, "invitation", "registration needs an invitation: an administrator makes one")
}

func otherInvitee() error {
	return api.Forbidden(api.CodeInvalidInvitation, "email",
		"this invitation is for another e-mail address: register with the one to which it was sent")
}

func missingField(name string) error {
	return api.Invalid(api.CodeMissingField, name, "%s is missing", name)
}

func emailTaken() error {
	return api.Conflict(api.CodeEmailTaken, "email", "an account with this e-mail address exists")
}

// ShowUser returns a user in the form of the API.
func ShowUser(u *models.User) api.User {
	return api.User{ID: u.ID, Object: api.ObjectUser, Email: u.Email, Name: u.Name, CreatedAt: api.Seconds(u.CreatedAt)}
}
