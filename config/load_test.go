package config

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const goodSigning = "9c1f0be24a7d45d3a6f8e2b7c05d913e" // 32 bytes

// write makes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, dotenv string, environ ...string) Config {
	t.Helper()
	c, err := load(environ, dotenv)
	if err != nil {
		t.Fatalf("Load(%q): %v", environ, err)
	}
	return *c
}

func reveal(secrets []Secret) []string {
	var texts []string
	for _, s := range secrets {
		texts = append(texts, s.Reveal())
	}
	return texts
}

func TestEmptyEnvironmentGivesTheDefaults(t *testing.T) {
	want := Config{
		Port:         8080,
		PublicURL:    "http://localhost:8080",
		DatabaseURL:  NewSecret("sqlite:./data/gateway.db"),
		JWTExpiry:    24 * time.Hour,
		Registration: RegistrationOpen,
		IDP:          IDP{Name: "google"},
		Providers: map[string]Provider{
			"openai":    {BaseURL: "https://api.openai.com"},
			"anthropic": {BaseURL: "https://api.anthropic.com"},
			"gemini":    {BaseURL: "https://generativelanguage.googleapis.com"},
		},
		ModelsListed:      ListServed,
		ProviderObjects:   ObjectsOwn,
		ModelDiscovery:    true,
		RateLimitRPM:      600,
		AuthRateLimitRPM:  20,
		MaxRequestBytes:   32 << 20,
		UpstreamTimeout:   10 * time.Minute,
		StreamFirstToken:  5 * time.Minute,
		StreamIdleTimeout: 2 * time.Minute,
		StreamMax:         time.Hour,
		StreamKeepalive:   15 * time.Second,
		ShutdownGrace:     2 * time.Minute,
		MaxRetries:        2,
		FallbackAfter:     time.Minute,
		LogPrompts:        LogPromptsOff,
		LogPromptsDays:    7,

		MaxInFlight:          4096,
		MaxInFlightPerCaller: 2048,
		MaxInFlightBytes:     512 << 20,

		Spend: Spend{
			RetentionDays: 90, MaxBudget: -1, BudgetWindow: "month", BudgetReserve: "expected",
			Keys:  KeyDefaults{LimitDefaults: LimitDefaults{Budget: -1, BudgetWindow: "month"}},
			Users: LimitDefaults{Budget: -1, BudgetWindow: "month"},
		},

		LogLevel:  slog.LevelInfo,
		LogFormat: LogAuto,
	}
	if got := mustLoad(t, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var empty []string
	for _, name := range allNames() {
		empty = append(empty, name+"=")
	}
	if got := mustLoad(t, "", empty...); !reflect.DeepEqual(got, want) {
		t.Errorf("with every setting empty: got %+v", got)
	}
}

func TestGoodConfigurations(t *testing.T) {
	models := write(t, "models.yaml", "models: []\n")
	tests := []struct {
		name    string
		environ []string
		got     func(Config) any
		want    any
	}{
		{"port and host", []string{"PORT=0", "HOST=::1"},
			func(c Config) any { return []any{c.Port, c.Host, c.Addr(), c.PublicURL} }, []any{0, "::1", "[::1]:0", "http://localhost:0"}},
		{"host name", []string{"HOST=gateway_1.internal"}, func(c Config) any { return c.Addr() }, "gateway_1.internal:8080"},
		{"all interfaces", []string{"PORT=65535"}, func(c Config) any { return c.Addr() }, ":65535"},
		{"public URL follows the port", []string{"PORT=9000"}, func(c Config) any { return c.PublicURL }, "http://localhost:9000"},
		{"public URL follows the port that Docker Compose publishes", []string{"PORT=8080", "GATEWAY_PUBLISHED_PORT=18350"},
			func(c Config) any { return []any{c.PublicURL, c.Compose} }, []any{"http://localhost:18350", true}},
		{"public URL of a container", []string{"PUBLIC_URL=https://a.example", "GATEWAY_PUBLISHED_PORT=18350"},
			func(c Config) any { return c.PublicURL }, "https://a.example"},
		{"public URL with a path", []string{"PUBLIC_URL=https://Example.com/gate%20way//"},
			func(c Config) any { return c.PublicURL }, "https://example.com/gate%20way"},
		{"mail", []string{"SMTP_URL=smtps://u:p%40@mail.example.com:465", "SMTP_FROM=Model Gateway <gateway@example.com>"},
			func(c Config) any { return []any{c.SMTP.URL.Reveal(), c.SMTP.From} },
			[]any{"smtps://u:p%40@mail.example.com:465", "Model Gateway <gateway@example.com>"}},
		{"registration", []string{"REGISTRATION=invite", "REQUIRE_VERIFIED_EMAIL=true"},
			func(c Config) any { return []any{c.Registration, c.RequireVerified} }, []any{RegistrationInvite, true}},
		{"auth", []string{"REQUIRE_AUTH=TRUE", "JWT_SECRET=" + goodSigning},
			func(c Config) any { return []any{c.RequireAuth, c.JWTSecret.Reveal()} }, []any{true, goodSigning}},
		{"money", []string{"MAX_BUDGET_USD=12.5", "MAX_BUDGET_WINDOW=day", "DEFAULT_KEY_BUDGET_USD=0", "DEFAULT_PRICE_USD=0.25/1.000001"},
			func(c Config) any {
				return []any{c.Spend.MaxBudget, c.Spend.BudgetWindow, c.Spend.Keys.Budget, *c.Spend.DefaultPrice}
			}, []any{int64(12_500_000), "day", int64(0), Price{Input: 250_000, Output: 1_000_001}}},
		{"limits of new keys",
			[]string{
				"DEFAULT_KEY_MODELS=gpt-4, gemini-2.5-pro",
				"DEFAULT_KEY_RPM=3",
				"DEFAULT_KEY_EXPIRY_DAYS=30",
				"USAGE_RETENTION_DAYS=0",
			},
			func(c Config) any {
				return []any{c.Spend.Keys.Models, c.Spend.Keys.RPMLimit, c.Spend.Keys.ExpiryDays, c.Spend.RetentionDays}
			}, []any{[]string{"gpt-4", "gemini-2.5-pro"}, int64(3), 30, 0}},
		{"limits of users",
			[]string{
				"DEFAULT_USER_MODELS=gpt-4", "DEFAULT_USER_MAX_PARALLEL=3", "DEFAULT_USER_BUDGET_USD=1.5", "DEFAULT_USER_BUDGET_WINDOW=day",
			},
			func(c Config) any {
				return []any{c.Spend.Users.Models, c.Spend.Users.MaxParallel, c.Spend.Users.Budget, c.Spend.Users.BudgetWindow, c.Spend.Keys.Budget}
			}, []any{[]string{"gpt-4"}, int64(3), int64(1_500_000), "day", int64(-1)}},
		{"administrators", []string{"ADMIN_EMAILS=root@example.com, o.k@b.example.org"},
			func(c Config) any { return c.Spend.AdminEmails }, []string{"root@example.com", "o.k@b.example.org"}},
		{"auth by digit", []string{"REQUIRE_AUTH=1", "JWT_SECRET=" + goodSigning}, func(c Config) any { return c.RequireAuth }, true},
		{"off in every spelling", []string{"REQUIRE_AUTH=False", "MODEL_DISCOVERY=0"},
			func(c Config) any { return []any{c.RequireAuth, c.ModelDiscovery} }, []any{false, false}},
		{"secret without auth", []string{"JWT_SECRET=" + goodSigning}, func(c Config) any { return c.JWTSecret.Reveal() }, goodSigning},
		{"rotation", []string{"JWT_SECRET=" + goodSigning, "JWT_SECRET_PREVIOUS=" + plantedSecret},
			func(c Config) any { return c.JWTSecretPrevious.Reveal() }, plantedSecret},
		{"expiry", []string{"JWT_EXPIRY_SECONDS=3600"}, func(c Config) any { return c.JWTExpiry }, time.Hour},
		{"domains", []string{"ALLOWED_EMAIL_DOMAINS=Example.com , sub.example.org"},
			func(c Config) any { return c.AllowedEmailDomains }, []string{"example.com", "sub.example.org"}},
		{"postgres", []string{"DATABASE_URL=postgres://u:p%40ss@db:5432/g?sslmode=disable"},
			func(c Config) any { return c.DatabaseURL.Reveal() }, "postgres://u:p%40ss@db:5432/g?sslmode=disable"},
		{
			"postgresql",
			[]string{"DATABASE_URL=postgresql://db/g"},
			func(c Config) any { return c.DatabaseURL.Reveal() },
			"postgresql://db/g",
		},
		{"postgres on a socket", []string{"DATABASE_URL=postgres:///g?host=/var/run/postgresql"},
			func(c Config) any { return c.DatabaseURL.Reveal() }, "postgres:///g?host=/var/run/postgresql"},
		{"sqlite", []string{"DATABASE_URL=sqlite:/var/lib/gateway.db"},
			func(c Config) any { return c.DatabaseURL.Reveal() }, "sqlite:/var/lib/gateway.db"},
		{"redis", []string{"REDIS_URL=rediss://:p@cache:6380/2"},
			func(c Config) any { return c.RedisURL.Reveal() }, "rediss://:p@cache:6380/2"},
		{"key pool", []string{"OPENAI_API_KEY=sk-a, sk-b ,sk-c"},
			func(c Config) any { return reveal(c.Providers["openai"].Keys) }, []string{"sk-a", "sk-b", "sk-c"}},
		{
			"one key",
			[]string{"ANTHROPIC_API_KEY=sk-ant"},
			func(c Config) any { return reveal(c.Providers["anthropic"].Keys) },
			[]string{"sk-ant"},
		},
		{
			"gemini's other name",
			[]string{"GOOGLE_API_KEY=AIza"},
			func(c Config) any { return reveal(c.Providers["gemini"].Keys) },
			[]string{"AIza"},
		},
		{"both of gemini's names", []string{"GOOGLE_API_KEY=AIza,b", "GEMINI_API_KEY=AIza, b"},
			func(c Config) any { return reveal(c.Providers["gemini"].Keys) }, []string{"AIza", "b"}},
		{"idp", []string{"IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=a b"},
			func(c Config) any { return []string{c.IDP.ClientID, c.IDP.ClientSecret.Reveal(), c.IDP.Name} },
			[]string{"id", "a b", "google"}},
		{"issuer means oidc", []string{"IDP_ISSUER=https://idp.example.com/"},
			func(c Config) any { return []string{c.IDP.Name, c.IDP.Issuer} }, []string{"oidc", "https://idp.example.com/"}},
		{"github", []string{"IDP_PROVIDER=github"}, func(c Config) any { return c.IDP.Name }, "github"},
		{"simulator", []string{"SIMULATOR=true", "OPENAI_API_KEY=sk-a"}, func(c Config) any { return c.Simulator }, true},
		{"models", []string{"MODELS_FILE=" + models, "MODEL_REDIRECT_RETIRED=true"},
			func(c Config) any { return []any{c.ModelsFile, c.ModelRedirectRetired} }, []any{models, true}},
		{"limits off", []string{"RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0", "STREAM_KEEPALIVE_SECONDS=0", "SHUTDOWN_GRACE_SECONDS=0"},
			func(c Config) any {
				return []any{c.RateLimitRPM, c.AuthRateLimitRPM, c.StreamKeepalive, c.ShutdownGrace}
			}, []any{0, 0, time.Duration(0), time.Duration(0)}},
		{"times", []string{"UPSTREAM_TIMEOUT_SECONDS=1", "STREAM_IDLE_TIMEOUT_SECONDS=86400", "MAX_REQUEST_BYTES=1073741824"},
			func(c Config) any {
				return []any{c.UpstreamTimeout, c.StreamIdleTimeout, c.MaxRequestBytes}
			}, []any{time.Second, 24 * time.Hour, int64(1 << 30)}},
		{"proxies", []string{"TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7,fd00::/8,::1"},
			func(c Config) any { return c.TrustedProxies }, []netip.Prefix{
				netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8"),
				netip.MustParsePrefix("::1/128"),
			}},
		{"every proxy", []string{"TRUSTED_PROXIES=0.0.0.0/0,::/0,0.0.0.0/0,::/0"},
			func(c Config) any { return len(c.TrustedProxies) }, 4},
		{"origins", []string{"CORS_ALLOWED_ORIGINS=https://App.example.com:443, http://localhost:3000"},
			func(c Config) any { return c.CORSAllowedOrigins }, []string{"https://app.example.com", "http://localhost:3000"}},
		{"any origin", []string{"CORS_ALLOWED_ORIGINS=*"}, func(c Config) any { return c.CORSAllowedOrigins }, []string{"*"}},
		{"logging", []string{"LOG_LEVEL=debug", "LOG_FORMAT=json"},
			func(c Config) any { return []any{c.LogLevel, c.LogFormat} }, []any{slog.LevelDebug, LogJSON}},
		{"the last of two wins", []string{"PORT=1", "PORT=2"}, func(c Config) any { return c.Port }, 2},
		{"a value with an equals sign", []string{"OPENAI_API_KEY=a=b="},
			func(c Config) any { return reveal(c.Providers["openai"].Keys) }, []string{"a=b="}},
		{"entries that are none", []string{"PORT", "", "=", "=C:=C:\\"}, func(c Config) any { return c.Port }, 8080},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.got(mustLoad(t, "", test.environ...)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestBaseURLsWorkWithAndWithoutTheVersion(t *testing.T) {
	providers := []struct {
		name, version string
		of            func(Config) string
	}{
		{"OPENAI_BASE_URL", "/v1", func(c Config) string { return c.Providers["openai"].BaseURL }},
		{"ANTHROPIC_BASE_URL", "/v1", func(c Config) string { return c.Providers["anthropic"].BaseURL }},
		{"GEMINI_BASE_URL", "/v1beta", func(c Config) string { return c.Providers["gemini"].BaseURL }},
	}
	for _, provider := range providers {
		for _, base := range []string{
			"https://proxy.example", "http://127.0.0.1:4000", "https://proxy.example/openai", "https://proxy.example/a/v2", "https://v1",
			"http://[::1]:80/x%2Fy", "https://proxy.example/xv1",
		} {
			for _, end := range []string{"", "/", "//", provider.version, provider.version + "/"} {
				c := mustLoad(t, "", provider.name+"="+base+end)
				if got := provider.of(c); got != base {
					t.Errorf("%s=%s%s: got %s", provider.name, base, end, got)
				}
			}
		}
	}
}

func TestEnvironmentWinsOverDotenv(t *testing.T) {
	dotenv := write(t, ".env", "PORT=1111\nHOST=127.0.0.1\nRATE_LIMIT_RPM=7\nOPENAI_API_KEY=sk-file\n")
	c := mustLoad(t, dotenv, "PORT=2222", "HOST=")
	if c.Port != 2222 || c.Host != "127.0.0.1" || c.RateLimitRPM != 7 || c.Providers["openai"].Keys[0].Reveal() != "sk-file" {
		t.Errorf("got %+v", c)
	}
}

func TestMissingDotenvIsFine(t *testing.T) {
	if c := mustLoad(t, filepath.Join(t.TempDir(), ".env"), "PORT=81"); c.Port != 81 {
		t.Errorf("port %d", c.Port)
	}
}

func TestProcessEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("PORT", "4711")
	t.Setenv("REQUIRE_AUTH", "ture")
	t.Setenv("KEY", "4712")
	dotenv := write(t, ".env", "HOST='$KEY'\n")
	_, err := load(nil, dotenv)
	if err == nil || !strings.Contains(err.Error(), `HOST: "$KEY"`) || strings.Contains(err.Error(), "REQUIRE_AUTH") {
		t.Errorf("got %v", err)
	}
	if c := mustLoad(t, ""); c.Port != 8080 {
		t.Errorf("port %d", c.Port)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	dotenv := write(t, ".env", "this is no line\nSTREAM_KEEPALIVE_SECONDS=never\nJWT_SECRET='"+plantedSecret+"\n")
	_, err := load([]string{
		"PORT=eighty", "REQUIRE_ATUH=true", "REQUIRE_AUTH=ture", "DATABASE_URL=mysql://root:" + plantedSecret + "@db",
		"OPENAI_API_KEY=" + plantedSecret + ",,", "IDP_CLIENT_ID=x", "LOG_LEVEL=INFO", "SIMULATOR=1", "GEMINI_BASE_URL=https://g.example",
	}, dotenv)
	want := []string{
		dotenv + ": line 1: not in the form NAME=value",
		dotenv + ": line 3: JWT_SECRET: the quote is not closed on the same line",
		"REQUIRE_ATUH is not a setting; did you mean REQUIRE_AUTH?",
		`PORT: "eighty" is not a whole number from 0 to 65535`,
		"DATABASE_URL: does not begin with postgres://, postgresql:// or sqlite:",
		`REQUIRE_AUTH: "ture" is not true or false`,
		"OPENAI_API_KEY: item 2 is empty",
		`STREAM_KEEPALIVE_SECONDS: "never" is not a whole number from 0 to 3600`,
		`LOG_LEVEL: "INFO" is not debug, info, warn or error`,
		"IDP_CLIENT_SECRET: missing, but required by IDP_CLIENT_ID",
		"SIMULATOR: cannot be true while GEMINI_BASE_URL is set: the simulator replaces all providers",
	}
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %T: %v", err, err)
	}
	if !reflect.DeepEqual([]string(faults), want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if err.Error() != strings.Join(want, "\n") {
		t.Errorf("text: %s", err)
	}
}
