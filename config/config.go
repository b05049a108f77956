// Package config reads the gateway's settings once, at start, into one typed
// value. Each setting, with its default and its format, is one entry of a table:
// here, in provider.go, in spend.go or in otel.go.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Config has all settings. It is passed by value and never changed, its slices
// included.
type Config struct {
	Host      string // empty: all interfaces
	Port      int    // 0: a free one is chosen
	PublicURL string // without a trailing slash

	DatabaseURL Secret // postgres://, postgresql:// or sqlite:PATH
	RedisURL    Secret // unset: this process keeps its state for itself

	RequireAuth         bool
	JWTSecret           Secret // unset: the caller generates one; always set with RequireAuth
	JWTSecretPrevious   Secret
	JWTExpiry           time.Duration
	AllowedEmailDomains []string // in lower case; empty: all
	Registration        string   // RegistrationOpen, RegistrationInvite or RegistrationClosed
	RequireVerified     bool     // users may call only with a verified address
	IDP                 IDP
	SMTP                SMTP

	Providers map[string]Provider // by name: one for each ProviderSettings
	Variables map[string][]Secret // keys in the environment variables that ModelsFile names
	Simulator bool                // nothing leaves the process: no BaseURL is to be called

	ModelsFile           string
	ModelsListed         string // ListServed or ListAll
	ModelAliases         map[string]string
	ProviderOrder        []string // which providers serve a name that several have, in this order
	ModelAliasesOnly     bool
	ModelDiscovery       bool
	ModelRedirectRetired bool
	StrictParams         bool   // of requests that do not say so themselves
	LiteLLMRoutes        bool   // also where no keys of LiteLLM were taken over
	ProviderObjects      string // ObjectsOwn, ObjectsAllow or ObjectsNone

	RateLimitRPM       int            // a caller; 0: off
	AuthRateLimitRPM   int            // an address; 0: off
	AllowedHosts       []string       // in lower case, or only "*"; without RequireAuth
	TrustedProxies     []netip.Prefix // masked; empty: X-Forwarded-For is ignored
	CORSAllowedOrigins []string       // as browsers send them, or only "*"; empty: CORS is off

	Fallbacks     map[string][]string // the fallback models of a model, in the order of the attempts
	MaxRetries    int                 // of one model for one request
	FallbackAfter time.Duration
	HedgeAfter    time.Duration // 0: off

	Spend Spend

	MaxRequestBytes      int64
	MaxInFlight          int   // calls of all callers
	MaxInFlightPerCaller int   // calls of one caller
	MaxInFlightBytes     int64 // request bodies of all calls

	UpstreamTimeout   time.Duration
	StreamFirstToken  time.Duration
	StreamIdleTimeout time.Duration
	StreamMax         time.Duration
	StreamKeepalive   time.Duration // 0: off
	ShutdownGrace     time.Duration

	LogLevel  slog.Level
	LogFormat string // LogAuto, LogText or LogJSON

	MetricsToken Secret // unset: /metrics needs no credential, or is closed with RequireAuth

	AlertWebhook AlertWebhook
	AlertEmail   string // address that the same alerts are mailed to; empty: none is mailed

	Tracing Tracing

	EncryptionKey         Secret        // the 32 bytes themselves; unset: nothing can be kept
	EncryptionKeyPrevious Secret        // likewise
	LogPrompts            string        // LogPromptsOff, LogPromptsErrors or LogPromptsAll
	LogPromptsDays        int           // how long they are kept
	ResponsesStore        time.Duration // how long conversations are kept; 0: not at all

	Ambient map[string]string // variables of the clouds' own programs that only the .env file sets

	Compose bool // docker-compose.yml has started it

	given map[string]given // what the operator has set, by name
}

// IDP is the external identity provider of the login. It is configured when
// ClientID is set; ClientSecret is set then as well.
type IDP struct {
	ClientID     string
	ClientSecret Secret
	Name         string // google, github, gitlab, azureadv2 or oidc
	Issuer       string // exactly as given: OpenID Connect compares it byte by byte
}

// SMTP is the server that sends mails. It is configured when URL is set; From is set
// then as well.
type SMTP struct {
	URL  Secret // smtp:// or smtps://, with user and password
	From string // an address, with or without a name
}

// The values of Config.Registration.
const (
	RegistrationOpen   = "open"
	RegistrationInvite = "invite"
	RegistrationClosed = "closed"
)

// The values of Config.ModelsListed.
const (
	ListServed = "served"
	ListAll    = "all"
)

// The values of Config.ProviderObjects: which objects that an upstream keeps, such as files,
// a request may name where the client's bytes are sent on. All clients of an upstream key
// share its account, and could read what another one has stored.
const (
	ObjectsOwn   = "own"   // earlier answers of the caller, and what answers hand out by ids that cannot be guessed
	ObjectsAllow = "allow" // all
	ObjectsNone  = "none"  // none
)

// The values of Config.LogFormat.
const (
	LogAuto = "auto" // text on a terminal, json otherwise
	LogText = "text"
	LogJSON = "json"
)

// table lists the settings: the name, the default as it would be written in the
// environment, the format with its destination, and the description.
func (l *loader) table() []row {
	rows := []row{
		plain("PORT", "8080", whole(&l.Port, 0, 65535), "Port to listen on; 0 chooses a free one"),
		plain("HOST", "", host(&l.Host), "Address or name to listen on; all interfaces when empty"),
		plain("PUBLIC_URL", "", httpURL(&l.PublicURL), "URL of the gateway for browsers; http://localhost:PORT when empty"),

		secretURL("DATABASE_URL", "sqlite:./data/gateway.db", database(&l.DatabaseURL), "Database of users, keys and usage"),
		secretURL("REDIS_URL", "", redis(&l.RedisURL),
			"Redis that shares limits, revocations and login state between replicas; each replica has its own when empty"),

		plain("REQUIRE_AUTH", "false", boolean(&l.RequireAuth), "Whether every call to /v1 needs a credential"),
		secret("JWT_SECRET", "", signing(&l.JWTSecret),
			"Secret that signs login tokens; required with REQUIRE_AUTH=true, otherwise random at each start when empty"),
		secret("JWT_SECRET_PREVIOUS", "", signing(&l.JWTSecretPrevious), "Former JWT_SECRET, still accepted while the secret is rotated"),
		plain("JWT_EXPIRY_SECONDS", "86400", seconds(&l.JWTExpiry, 1, 31536000), "Lifetime of a login token"),
		plain("ALLOWED_EMAIL_DOMAINS", "", domains(&l.AllowedEmailDomains),
			"Domains of the e-mail addresses that may register; all when empty"),
		plain("REGISTRATION", RegistrationOpen, oneOf(&l.Registration, RegistrationOpen, RegistrationInvite, RegistrationClosed),
			"Who may register with a password: every client, those with an invitation, or none"),
		plain("REQUIRE_VERIFIED_EMAIL", "false", boolean(&l.RequireVerified),
			"Whether a user may call only after the e-mail address was verified"),
		secretURL("SMTP_URL", "", smtp(&l.SMTP.URL),
			"Mail server that sends invitations and links; when empty no mail is sent, and administrators hand links over"),
		plain("SMTP_FROM", "", sender(&l.SMTP.From), "Sender of the mails; required with SMTP_URL"),

		plain("IDP_CLIENT_ID", "", text(&l.IDP.ClientID),
			"Client id of the gateway at the identity provider; this login is off when empty"),
		secret("IDP_CLIENT_SECRET", "", credential(&l.IDP.ClientSecret), "The secret that goes with IDP_CLIENT_ID"),
		plain("IDP_PROVIDER", "", oneOf(&l.IDP.Name, "google", "github", "gitlab", "azureadv2", "oidc"),
			"Identity provider; when empty oidc if IDP_ISSUER is set, else google"),
		plain("IDP_ISSUER", "", issuer(&l.IDP.Issuer), "URL of the issuer; required for oidc and allowed only there"),
	}
	for _, more := range [][]row{l.upstreams(), l.serving(), l.spending(), l.tracing()} {
		rows = append(rows, more...)
	}
	return rows
}

// serving lists the settings of calls, of their limits and of what the gateway
// reports of itself.
func (l *loader) serving() []row {
	return []row{
		plain("SIMULATOR", "false", boolean(&l.Simulator),
			"Whether a simulator inside the process replaces all providers; not together with a *_BASE_URL"),

		plain("MODELS_FILE", "", readable(&l.ModelsFile), "YAML file that adds models to the catalogue or changes them"),
		plain("MODELS_LISTED", ListServed, oneOf(&l.ModelsListed, ListServed, ListAll),
			"Models that are listed: those of the catalogue, of MODELS_FILE and of the providers' own lists, or also all others that the "+
				"configured providers are known to sell; a model can be called in both cases"),
		plain("MODEL_ALIASES", "", aliases(&l.ModelAliases),
			"Other names of models; one * in a name stands for any text, and a name may be that of another model"),
		plain("MODEL_ALIASES_ONLY", "false", boolean(&l.ModelAliasesOnly), "Whether the list of models has nothing but the aliases without a *"),
		plain("MODEL_DISCOVERY", "true", boolean(&l.ModelDiscovery), "Whether the lists of models are read from the providers"),
		plain("MODEL_REDIRECT_RETIRED", "false", boolean(&l.ModelRedirectRetired),
			"Whether requests for a retired model are answered by its successor"),

		plain("FALLBACKS", "", fallbacks(&l.Fallbacks), "Fallback models for a model that cannot answer, in the order of the attempts"),
		plain("MAX_RETRIES", "2", whole(&l.MaxRetries, 0, 5),
			"Most retries of a failed call with the same model; all retries together are limited to a tenth of the calls"),
		plain("FALLBACK_AFTER_SECONDS", "60", seconds(&l.FallbackAfter, 1, 86400),
			"Longest wait for an upstream to accept a stream while a fallback or another upstream could answer"),
		plain("HEDGE_AFTER_MS", "0", milliseconds(&l.HedgeAfter, 0, 600000),
			"Time without an answer after which a second upstream is called as well; 0 is off"),

		plain("RESPONSES_STORE_HOURS", "", hours(&l.ResponsesStore, 0, 8760),
			"How long conversations of /v1/responses with models of other providers than OpenAI are kept, encrypted, so that a request can "+
				"name the response before it; when empty 1 if ENCRYPTION_KEY is set, else 0, which keeps nothing"),
		secret("ENCRYPTION_KEY", "", encryption(&l.EncryptionKey),
			"Key that encrypts conversations, requests and answers in the database; required with RESPONSES_STORE_HOURS and LOG_PROMPTS"),
		secret("ENCRYPTION_KEY_PREVIOUS", "", encryption(&l.EncryptionKeyPrevious),
			"Former ENCRYPTION_KEY, which still reads what was kept before the key was rotated"),
		plain("LOG_PROMPTS", LogPromptsOff, oneOf(&l.LogPrompts, LogPromptsOff, LogPromptsErrors, LogPromptsAll),
			"Which requests and answers are kept with their calls, encrypted, for their owners and administrators: off, errors or all"),
		plain("LOG_PROMPTS_DAYS", "7", whole(&l.LogPromptsDays, 1, 365), "How long LOG_PROMPTS keeps them"),
		plain("STRICT_PARAMS", "false", boolean(&l.StrictParams),
			"Whether a request with a field that the provider does not support is refused; its header x-gateway-strict-params wins"),
		plain("LITELLM_ROUTES", "false", boolean(&l.LiteLLMRoutes), "Whether clients of LiteLLM find its routes, such as /key/info, and may send its members of a request; they do in any case where keys of LiteLLM were taken over"),
		plain("PROVIDER_OBJECTS", ObjectsOwn, oneOf(&l.ProviderObjects, ObjectsOwn, ObjectsAllow, ObjectsNone),
			"Which objects kept at a provider a request may name, where all clients of a key share its account: earlier answers of its own "+
				"caller, and containers and items of any answer whose id it knows (own), all (allow) or none"),

		plain("RATE_LIMIT_RPM", "600", whole(&l.RateLimitRPM, 0, 1000000),
			"Requests to /v1 a minute of one caller, and as many counts of tokens; 0 is off"),
		plain("AUTH_RATE_LIMIT_RPM", "20", whole(&l.AuthRateLimitRPM, 0, 1000000),
			"Logins and registrations a minute of one address, and changes of keys of one user; 0 is off"),
		plain("ALLOWED_HOSTS", "", hosts(&l.AllowedHosts),
			"Names by which clients may call the gateway without REQUIRE_AUTH, beside addresses, names without a dot, localhost, *.local, "+
				"*.internal and the host of PUBLIC_URL"),
		plain("TRUSTED_PROXIES", "", prefixes(&l.TrustedProxies), "Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; none when empty; 0.0.0.0/0 and ::/0 have to be listed twice"),
		plain("CORS_ALLOWED_ORIGINS", "", origins(&l.CORSAllowedOrigins),
			"Origins of web pages that may call the gateway from a browser; none when empty"),

		plain("MAX_REQUEST_BYTES", "33554432", whole(&l.MaxRequestBytes, 1024, 1<<30),
			"Largest request body in bytes; larger ones are refused unread"),
		plain("MAX_IN_FLIGHT", "4096", whole(&l.MaxInFlight, 1, 1000000),
			"Most calls in flight of all callers; more are refused with 503"),
		plain("MAX_IN_FLIGHT_PER_CALLER", "2048", whole(&l.MaxInFlightPerCaller, 1, 1000000),
			"Most calls in flight of one caller; more are refused with 429"),
		plain("MAX_IN_FLIGHT_BYTES", "536870912", whole(&l.MaxInFlightBytes, 1024, 1<<40),
			"Most memory of requests in flight, in bytes; more is refused with 503, or 413 if one request has more; an eighth of GOMEMLIMIT if less"),

		plain("UPSTREAM_TIMEOUT_SECONDS", "600", seconds(&l.UpstreamTimeout, 1, 86400),
			"Longest wait for the response header of an upstream"),
		plain("STREAM_FIRST_TOKEN_TIMEOUT_SECONDS", "300", seconds(&l.StreamFirstToken, 1, 86400),
			"Longest wait for the first event of a stream of an upstream"),
		plain("STREAM_IDLE_TIMEOUT_SECONDS", "120", seconds(&l.StreamIdleTimeout, 1, 86400),
			"Longest wait for the next bytes of a stream of an upstream"),
		plain("STREAM_MAX_SECONDS", "3600", seconds(&l.StreamMax, 1, 86400), "Longest duration of a stream, from its first event"),
		plain("STREAM_KEEPALIVE_SECONDS", "15", seconds(&l.StreamKeepalive, 0, 3600),
			"Time without an event after which the client of a stream is sent a comment or a ping; 0 is off"),
		plain("SHUTDOWN_GRACE_SECONDS", "120", seconds(&l.ShutdownGrace, 0, 3600),
			"Time in which running streams may finish after SIGTERM"),

		plain("LOG_LEVEL", "info", level(&l.LogLevel), "Least severe level that is logged"),
		plain("LOG_FORMAT", LogAuto, oneOf(&l.LogFormat, LogAuto, LogText, LogJSON),
			"Format of the log; auto is text on a terminal and json otherwise"),
		secret("METRICS_TOKEN", "", credential(&l.MetricsToken),
			"Bearer token that a scraper of /metrics must send; when empty none, and with REQUIRE_AUTH=true /metrics is closed"),
	}
}

// Addr returns the address to listen on.
func (c Config) Addr() string {
	return net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
}

// Setting is the documentation of one setting.
type Setting struct {
	Name    string
	Default string // as it would be written in the environment
	Secret  bool   // never printed; NAME_FILE may be the path of a file with its value
	Doc     string // one sentence, with the format
	Group   string // the heading in the documentation
	Address bool   // a secret that is a URL, which may be shown without its password
	Pool    bool   // several secrets, with commas between
}

// Settings lists all settings, those of the providers included, in the order of
// the documentation.
func Settings(providers []ProviderSettings) []Setting {
	rows := newLoader(providers).table()
	settings := make([]Setting, len(rows))
	group := ""
	for i, row := range rows {
		settings[i] = row.Setting
		if begins, ok := groups[row.Name]; ok {
			group = begins
		}
		settings[i].Group = group
	}
	return settings
}

// row is an entry of the table.
type row struct {
	Setting
	format
}

func plain(name, defaultText string, f format, doc string) row {
	return row{Setting{Name: name, Default: defaultText, Doc: doc + " (" + f.accepts + ")."}, f}
}

// groups are the headings of the settings, by the first setting of each.
var groups = map[string]string{
	"PORT":                 "Listener",
	"DATABASE_URL":         "Storage",
	"REQUIRE_AUTH":         "Authentication",
	"IDP_CLIENT_ID":        "Login through an identity provider",
	"OPENAI_API_KEY":       "Upstreams",
	"MODELS_FILE":          "Models",
	"RATE_LIMIT_RPM":       "Rate limits, proxies and CORS",
	"MAX_REQUEST_BYTES":    "Sizes and timeouts",
	"LOG_LEVEL":            "Logging and metrics",
	"USAGE_RETENTION_DAYS": "Budgets, new keys and administrators",
	"OTEL_SDK_DISABLED":    "Traces (OpenTelemetry)",
}

func secretURL(name, defaultText string, f format, doc string) row {
	r := secret(name, defaultText, f, doc)
	r.Address = true
	return r
}

func secret(name, defaultText string, f format, doc string) row {
	r := plain(name, defaultText, f, doc)
	r.Secret = true
	return r
}

// The values of LOG_PROMPTS.
const (
	LogPromptsOff    = "off"
	LogPromptsErrors = "errors" // of calls that were neither answered nor ended by their client
	LogPromptsAll    = "all"
)
