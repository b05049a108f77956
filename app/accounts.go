package app

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"time"

	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/middleware"
	"modelgateway/router"
	"modelgateway/services/account"
	"modelgateway/services/auth"
	"modelgateway/services/idp"
	"modelgateway/services/ledger"
	"modelgateway/services/mail"
	"modelgateway/services/ratelimit"
	"modelgateway/services/signin"
	"modelgateway/services/tracing"
)

// issuer is that of the tokens of logins.
const issuer = "modelgateway"

// accounts adds accounts, tokens, keys, logins, mails and rate limits.
func (g *gateway) accounts(cfg config.Config, of *derived, opts *router.Options) error {
	secret := []byte(cfg.JWTSecret.Reveal())
	if len(secret) == 0 {
		g.started.add("JWT_SECRET", "JWT_SECRET is not set: a random one is used, and logins are lost when this process stops")
		secret = []byte(rand.Text() + rand.Text())
	}
	g.revisions = auth.NewRevisions(g.store, time.Now)
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: secret, Previous: []byte(cfg.JWTSecretPrevious.Reveal()), Expiry: cfg.JWTExpiry,
		Issuer: issuer, Store: g.store, Log: g.log, Now: time.Now, Revisions: g.revisions,
		UserDefaults: of.userLimits,
	})
	g.tokens = tokens
	g.keys = auth.NewKeys(auth.KeyOptions{
		Verified: !cfg.SMTP.URL.IsZero(), Store: g.store, Redis: g.cache, Log: g.log, Now: time.Now, Revisions: g.revisions,
		CheckModel: g.checkModel,
		Defaults: auth.KeyDefaults{
			Limits: of.keyLimits, Expiry: time.Duration(cfg.Spend.Keys.ExpiryDays) * 24 * time.Hour,
		},
		UserDefaults: of.userLimits,
	})
	if err := g.mails(cfg.SMTP); err != nil {
		return err
	}
	g.users = account.New(account.Options{
		Store: g.store, Tokens: tokens, Domains: cfg.AllowedEmailDomains, Redis: g.cache, Now: time.Now,
		Registration: cfg.Registration, PublicURL: cfg.PublicURL, Admins: of.admins, Secret: secret, Mail: g.mail,
	})
	login, err := idp.New(idp.Options{
		Config: cfg.IDP, PublicURL: cfg.PublicURL, Secret: secret, Store: g.store, Redis: g.cache, Now: time.Now,
		Mail: g.mail != nil, Linked: g.users.TellOfIdentity,
		Issue: tokens.Issue, NormalEmail: account.NormalEmail,
		Allowed: func(email string) bool { return account.DomainAllowed(email, cfg.AllowedEmailDomains) },
	})
	if err != nil {
		return fmt.Errorf("IDP_PROVIDER: %w", err)
	}
	opts.Auth = &controllers.Auth{Accounts: g.users, Cookies: opts.Cookies, Now: time.Now}
	opts.Keys = &controllers.Keys{Service: g.keys}
	g.usage = ledger.NewUsage(g.store, time.Now)
	g.callRows = ledger.NewCalls(ledger.CallsOptions{Store: g.store, Price: g.calls.PriceOf, Content: g.prompts.State})
	opts.IDP = &controllers.IDP{Service: login, Accounts: g.users, Cookies: opts.Cookies, Now: time.Now}
	opts.SignIn = &controllers.SignIn{
		On: cfg.RequireAuth, PublicURL: cfg.PublicURL, Telemetry: tracing.NewCollector(cfg.Tracing, g.log, time.Now),
		Service: &signin.Service{
			Store: g.store, Keys: g.keys, Secret: secret, Previous: []byte(cfg.JWTSecretPrevious.Reveal()), PublicURL: cfg.PublicURL,
			Log: g.log, Now: time.Now,
		},
	}
	opts.Callers = middleware.Auth{Verified: cfg.RequireVerified, Required: cfg.RequireAuth, Keys: g.keys, Tokens: tokens}
	if opts.CallLimit, err = g.limit("calls", cfg.RateLimitRPM); err != nil {
		return err
	}
	if opts.CountLimit, err = g.limit("counts", cfg.RateLimitRPM); err != nil {
		return err
	}
	if opts.AuthLimit, err = g.limit("auth", cfg.AuthRateLimitRPM); err != nil {
		return err
	}
	const addressesOfANetwork = 5
	opts.NetworkLimit, err = g.limit("auth-networks", addressesOfANetwork*cfg.AuthRateLimitRPM)
	return err
}

// identityProvider is the name of the one that is configured; empty without one.
func identityProvider(c config.IDP) string {
	if c.ClientID == "" {
		return ""
	}
	return c.Name
}

// cookies are the console's, for a gateway at this URL.
func cookies(cfg config.Config) middleware.Cookies {
	public := cfg.PublicURL
	made := middleware.Cookies{Secure: strings.HasPrefix(public, "https://"), Now: time.Now, Proxies: cfg.TrustedProxies}
	if u, err := url.Parse(public); err == nil {
		made.Path = strings.TrimSuffix(u.EscapedPath(), "/")
	}
	return made
}

func (g *gateway) mails(c config.SMTP) (err error) {
	if c.URL.IsZero() {
		return nil
	}
	g.mail, err = mail.New(mail.Options{URL: c.URL.Reveal(), From: c.From, Log: g.log})
	return err
}

func (g *gateway) limit(name string, perMinute int) (*ratelimit.Requests, error) {
	return ratelimit.NewRequests(ratelimit.RequestOptions{Name: name, PerMinute: perMinute, Redis: g.cache, Log: g.log})
}
