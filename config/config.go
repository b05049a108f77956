// Package config reads the gateway's settings once, at start, into one typed
// value. Every setting, with its default and what it accepts, is one line of
// the table in this file.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Config is what the operator decided. It is passed by value and never
// changed, its slices included.
type Config struct {
	Host      string // empty: all interfaces
	Port      int    // 0: any free one
	PublicURL string // without a trailing slash

	DatabaseURL Secret // postgres://, postgresql:// or sqlite:PATH
	RedisURL    Secret // unset: everything stays inside this process

	RequireAuth         bool
	JWTSecret           Secret // unset: the caller makes a random one; never with RequireAuth
	JWTSecretPrevious   Secret
	JWTExpiry           time.Duration
	AllowedEmailDomains []string // in lower case; none: all
	IDP                 IDP

	OpenAI    Provider
	Anthropic Provider
	Gemini    Provider
	Simulator bool // nothing leaves the process: no BaseURL is to be called

	ModelsFile           string
	ModelDiscovery       bool
	ModelRedirectRetired bool

	RateLimitRPM       int            // 0: off
	AuthRateLimitRPM   int            // 0: off
	TrustedProxies     []netip.Prefix // masked; none: X-Forwarded-For is never believed
	CORSAllowedOrigins []string       // as browsers send them, or only "*"; none: CORS is off

	Fallbacks  map[string][]string // by model: which others stand in for it, in this order
	MaxRetries int                 // of one model for one request
	HedgeAfter time.Duration       // 0: off

	Spend Spend

	MaxRequestBytes      int64
	MaxInFlight          int   // calls, of all callers
	MaxInFlightPerCaller int   // calls
	MaxInFlightBytes     int64 // of the bodies of all calls

	UpstreamTimeout   time.Duration
	StreamFirstToken  time.Duration
	StreamIdleTimeout time.Duration
	StreamMax         time.Duration
	StreamKeepalive   time.Duration // 0: off
	ShutdownGrace     time.Duration

	LogLevel  slog.Level
	LogFormat string // LogAuto, LogText or LogJSON

	MetricsToken Secret // unset: anybody may look at /metrics

	Tracing Tracing
}

// Provider is what one upstream needs.
type Provider struct {
	Keys    []Secret // a pool; none: the provider is not configured
	BaseURL string   // without a trailing slash and without the API's version
}

// IDP is the external identity provider of the login. It is configured when
// ClientID is set; ClientSecret is set then as well.
type IDP struct {
	ClientID     string
	ClientSecret Secret
	Name         string // google, github, gitlab, azureadv2 or oidc
	Issuer       string // exactly as given: OpenID Connect compares it byte by byte
}

// The values of Config.LogFormat.
const (
	LogAuto = "auto" // text on a terminal, json otherwise
	LogText = "text"
	LogJSON = "json"
)

// table is every setting: its name, its default as it would be written in the
// environment, where it goes and what it accepts, and what it means.
func (l *loader) table() []row {
	return append([]row{
		plain("PORT", "8080", whole(&l.Port, 0, 65535), "Port to listen on; 0 takes any free one"),
		plain("HOST", "", host(&l.Host), "Address or name to listen on; all interfaces when empty"),
		plain("PUBLIC_URL", "", httpURL(&l.PublicURL), "Where browsers reach the gateway; http://localhost:PORT when empty"),

		secret("DATABASE_URL", "sqlite:./data/gateway.db", database(&l.DatabaseURL), "Where users and keys are kept"),
		secret("REDIS_URL", "", redis(&l.RedisURL), "Shares limits, revocations and login state between replicas; kept in the process when empty"),

		plain("REQUIRE_AUTH", "false", boolean(&l.RequireAuth), "Whether every call to /v1 needs a credential"),
		secret("JWT_SECRET", "", signing(&l.JWTSecret), "Signs login tokens; required with REQUIRE_AUTH=true, else random for each start when empty"),
		secret("JWT_SECRET_PREVIOUS", "", signing(&l.JWTSecretPrevious), "Still accepted while JWT_SECRET is being rotated"),
		plain("JWT_EXPIRY_SECONDS", "86400", seconds(&l.JWTExpiry, 1, 31536000), "Lifetime of a login token"),
		plain("ALLOWED_EMAIL_DOMAINS", "", domains(&l.AllowedEmailDomains), "Who may register; everybody when empty"),

		plain("IDP_CLIENT_ID", "", text(&l.IDP.ClientID), "Our client id at the identity provider; the login is off when empty"),
		secret("IDP_CLIENT_SECRET", "", credential(&l.IDP.ClientSecret), "The secret that goes with IDP_CLIENT_ID"),
		plain("IDP_PROVIDER", "", oneOf(&l.IDP.Name, "google", "github", "gitlab", "azureadv2", "oidc"), "When empty oidc if IDP_ISSUER is set, else google"),
		plain("IDP_ISSUER", "", issuer(&l.IDP.Issuer), "The issuer's URL, for oidc only and needed there"),

		secret("OPENAI_API_KEY", "", keys(&l.OpenAI.Keys), "For the gpt models; OpenAI is off when empty"),
		plain("OPENAI_BASE_URL", "https://api.openai.com/v1", baseURL(&l.OpenAI.BaseURL, "/v1"), "Where the OpenAI API is"),
		secret("ANTHROPIC_API_KEY", "", keys(&l.Anthropic.Keys), "For the claude models; Anthropic is off when empty"),
		plain("ANTHROPIC_BASE_URL", "https://api.anthropic.com", baseURL(&l.Anthropic.BaseURL, "/v1"), "Where the Anthropic API is"),
		secret("GEMINI_API_KEY", "", keys(&l.Gemini.Keys), "For the gemini models; Gemini is off when empty"),
		secret("GOOGLE_API_KEY", "", keys(&l.googleKeys), "Another name of GEMINI_API_KEY"),
		plain("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", baseURL(&l.Gemini.BaseURL, "/v1beta"), "Where the Gemini API is"),
		plain("SIMULATOR", "false", boolean(&l.Simulator), "Whether a simulator inside the process plays all three providers; not together with a *_BASE_URL"),

		plain("MODELS_FILE", "", readable(&l.ModelsFile), "YAML that adds models to the catalogue or changes them"),
		plain("MODEL_DISCOVERY", "true", boolean(&l.ModelDiscovery), "Whether providers are asked which models they serve today"),
		plain("MODEL_REDIRECT_RETIRED", "false", boolean(&l.ModelRedirectRetired), "Whether a retired model's successor answers in its place"),

		plain("FALLBACKS", "", fallbacks(&l.Fallbacks), "Which models stand in for a model that cannot answer, in their order"),
		plain("MAX_RETRIES", "2", whole(&l.MaxRetries, 0, 5), "How often a call that failed is made again with the same model, at most; all retries together are a tenth of the calls"),
		plain("HEDGE_AFTER_MS", "0", milliseconds(&l.HedgeAfter, 0, 600000), "When a second upstream is asked for an answer that has not come; 0 is off"),

		plain("RATE_LIMIT_RPM", "600", whole(&l.RateLimitRPM, 0, 1000000), "Requests a minute and caller on /v1; 0 is off"),
		plain("AUTH_RATE_LIMIT_RPM", "20", whole(&l.AuthRateLimitRPM, 0, 1000000), "Requests a minute and address on login and registration; 0 is off"),
		plain("TRUSTED_PROXIES", "", prefixes(&l.TrustedProxies), "Whose X-Forwarded-For is believed; nobody's when empty"),
		plain("CORS_ALLOWED_ORIGINS", "", origins(&l.CORSAllowedOrigins), "Which web pages may call the gateway from a browser; none when empty"),

		plain("MAX_REQUEST_BYTES", "33554432", whole(&l.MaxRequestBytes, 1024, 1<<30), "Larger request bodies are refused unread"),
		plain("MAX_IN_FLIGHT", "4096", whole(&l.MaxInFlight, 1, 1000000), "Chat completions at the same time, of all callers; more are refused with 503"),
		plain("MAX_IN_FLIGHT_PER_CALLER", "2048", whole(&l.MaxInFlightPerCaller, 1, 1000000), "Chat completions at the same time of one caller; more are refused with 429"),
		plain("MAX_IN_FLIGHT_BYTES", "536870912", whole(&l.MaxInFlightBytes, 1024, 1<<40), "Request bodies at the same time, of all callers; more are refused with 503, and an eighth of GOMEMLIMIT is enough where that is less"),

		plain("UPSTREAM_TIMEOUT_SECONDS", "600", seconds(&l.UpstreamTimeout, 1, 86400), "Longest wait for an upstream's response header"),
		plain("STREAM_FIRST_TOKEN_TIMEOUT_SECONDS", "300", seconds(&l.StreamFirstToken, 1, 86400), "Longest wait for the first event of an upstream's stream"),
		plain("STREAM_IDLE_TIMEOUT_SECONDS", "120", seconds(&l.StreamIdleTimeout, 1, 86400), "Longest silence of an upstream inside a stream"),
		plain("STREAM_MAX_SECONDS", "3600", seconds(&l.StreamMax, 1, 86400), "Longest stream in all, from its first event"),
		plain("STREAM_KEEPALIVE_SECONDS", "15", seconds(&l.StreamKeepalive, 0, 3600), "Silence after which a stream's client is sent a comment; 0 is off"),
		plain("SHUTDOWN_GRACE_SECONDS", "120", seconds(&l.ShutdownGrace, 0, 3600), "How long live streams may finish after SIGTERM"),

		plain("LOG_LEVEL", "info", level(&l.LogLevel), "The least severe messages that are logged"),
		plain("LOG_FORMAT", LogAuto, oneOf(&l.LogFormat, LogAuto, LogText, LogJSON), "auto is text on a terminal and json otherwise"),
		secret("METRICS_TOKEN", "", credential(&l.MetricsToken), "What a collector of /metrics must send as Authorization: Bearer; nothing when empty"),
	}, append(l.spending(), l.tracing()...)...)
}

// Addr is what to listen on.
func (c Config) Addr() string {
	return net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
}

// Setting describes one setting to people.
type Setting struct {
	Name    string
	Default string // as it would be written in the environment
	Secret  bool   // never printed; NAME_FILE may name a file that holds it
	Doc     string // one sentence, with what is accepted
}

// Settings is every setting, in the order of the documentation.
func Settings() []Setting {
	rows := new(loader).table()
	settings := make([]Setting, len(rows))
	for i, row := range rows {
		settings[i] = row.Setting
	}
	return settings
}

// row is a setting with how it is read.
type row struct {
	Setting
	kind
}

func plain(name, fallback string, k kind, doc string) row {
	return row{Setting{Name: name, Default: fallback, Doc: doc + " (" + k.want + ")."}, k}
}

func secret(name, fallback string, k kind, doc string) row {
	r := plain(name, fallback, k, doc)
	r.Secret = true
	return r
}
