package config

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// badConfigurations have one fault each.
var badConfigurations = []struct {
	setting string // what the fault must name
	environ []string
}{
	{"PORT", []string{"PORT=eighty"}},
	{"PORT", []string{"PORT=65536"}},
	{"PORT", []string{"PORT=-1"}},
	{"PORT", []string{"PORT=+80"}},
	{"PORT", []string{"PORT= 80"}},
	{"PORT", []string{"PORT=80.0"}},
	{"PORT", []string{"PORT=0x50"}},
	{"PORT", []string{"PORT=8_080"}},
	{"PORT", []string{"PORT=٨٠"}},
	{"PORT", []string{"PORT=99999999999999999999"}},
	{"PORT", []string{"PORT=" + plantedSecret}},
	{"PORT", []string{"PORT=:8080"}},
	{"PORT", []string{"PORT=tcp://10.0.0.1:80"}},
	{"HOST", []string{"HOST=[::]"}},
	{"HOST", []string{"HOST=localhost:80"}},
	{"HOST", []string{"HOST=999.1.1.1"}},
	{"HOST", []string{"HOST=a..b"}},
	{"HOST", []string{"HOST= "}},
	{"HOST", []string{"HOST=-a"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=gateway.example.com"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=ftp://gateway.example.com"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https://"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https:gateway.example.com"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https://h?x=1"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https://h#"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https://u:" + plantedSecret + "@h"}},
	{"PUBLIC_URL", []string{"PUBLIC_URL=https://h:99999"}},
	{"DATABASE_URL", []string{"DATABASE_URL=mysql://u:" + plantedSecret + "@h/d"}},
	{"DATABASE_URL", []string{"DATABASE_URL=postgres://u:" + plantedSecret + "@/d"}},
	{"DATABASE_URL", []string{"DATABASE_URL=postgres://u:" + plantedSecret + "#@h/d"}},
	{"DATABASE_URL", []string{"DATABASE_URL=postgres://u:" + plantedSecret + "%zz@h/d"}},
	{"DATABASE_URL", []string{"DATABASE_URL=postgres:u:" + plantedSecret + "@h/d"}},
	{"DATABASE_URL", []string{"DATABASE_URL=host=db password=" + plantedSecret}},
	{"DATABASE_URL", []string{"DATABASE_URL=sqlite:"}},
	{"DATABASE_URL", []string{"DATABASE_URL=sqlite://data/gateway.db"}},
	{"DATABASE_URL", []string{"DATABASE_URL=sqlite:x.db?mode=ro"}},
	{"REDIS_URL", []string{"REDIS_URL=cache:6379"}},
	{"REDIS_URL", []string{"REDIS_URL=redis://:" + plantedSecret + "@"}},
	{"REDIS_URL", []string{"REDIS_URL=redis://:" + plantedSecret + "@h:port"}},
	{"REDIS_URL", []string{"REDIS_URL=redis://:" + plantedSecret + "@h/zero"}},
	{"REDIS_URL", []string{"REDIS_URL=http://:" + plantedSecret + "@h"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=ture"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=yes"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=on"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=TRUE "}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH= false"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=2"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=t"}},
	{"REQUIRE_AUTH", []string{"REQUIRE_AUTH=falſe"}},
	{"JWT_SECRET", []string{"REQUIRE_AUTH=true"}},
	{"JWT_SECRET", []string{"REQUIRE_AUTH=true", "JWT_SECRET="}},
	{"JWT_SECRET", []string{"REQUIRE_AUTH=true", "JWT_SECRET=" + strings.Repeat(" ", 40)}},
	{"JWT_SECRET", []string{"REQUIRE_AUTH=true", "JWT_SECRET=" + plantedSecret[:31]}},
	{"JWT_SECRET", []string{"JWT_SECRET=" + plantedSecret[:31]}},
	{"JWT_SECRET_PREVIOUS", []string{"JWT_SECRET=" + goodSigning, "JWT_SECRET_PREVIOUS=short"}},
	{"JWT_SECRET_PREVIOUS", []string{"JWT_SECRET_PREVIOUS=" + plantedSecret}},
	{"JWT_SECRET_PREVIOUS", []string{"JWT_SECRET=" + plantedSecret, "JWT_SECRET_PREVIOUS=" + plantedSecret}},
	{"JWT_EXPIRY_SECONDS", []string{"JWT_EXPIRY_SECONDS=24h"}},
	{"JWT_EXPIRY_SECONDS", []string{"JWT_EXPIRY_SECONDS=0"}},
	{"ALLOWED_EMAIL_DOMAINS", []string{"ALLOWED_EMAIL_DOMAINS=@example.com"}},
	{"ALLOWED_EMAIL_DOMAINS", []string{"ALLOWED_EMAIL_DOMAINS=example.com,"}},
	{"ALLOWED_EMAIL_DOMAINS", []string{"ALLOWED_EMAIL_DOMAINS=*.example.com"}},
	{"IDP_CLIENT_SECRET", []string{"IDP_CLIENT_ID=id"}},
	{"IDP_CLIENT_ID", []string{"IDP_CLIENT_SECRET=" + plantedSecret}},
	{"IDP_CLIENT_ID", []string{"IDP_CLIENT_ID=a b", "IDP_CLIENT_SECRET=" + plantedSecret}},
	{"IDP_CLIENT_SECRET", []string{"IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=" + plantedSecret + "\n"}},
	{"IDP_CLIENT_SECRET", []string{"IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=" + plantedSecret + " "}},
	{"IDP_PROVIDER", []string{"IDP_PROVIDER=Google"}},
	{"IDP_PROVIDER", []string{"IDP_PROVIDER=okta", "IDP_ISSUER=https://h"}},
	{"IDP_ISSUER", []string{"IDP_PROVIDER=oidc"}},
	{"IDP_ISSUER", []string{"IDP_PROVIDER=github", "IDP_ISSUER=https://h"}},
	{"IDP_ISSUER", []string{"IDP_ISSUER=idp.example.com"}},
	{"IDP_ISSUER", []string{"IDP_ISSUER=https://u:" + plantedSecret + "@h"}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=" + plantedSecret + ",,b"}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=" + plantedSecret + ","}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY= "}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=" + plantedSecret + "\r"}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=" + plantedSecret + " " + plantedSecret}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=\"" + plantedSecret + "\""}},
	{"OPENAI_API_KEY", []string{"OPENAI_API_KEY=" + plantedSecret + "," + plantedSecret}},
	{"ANTHROPIC_API_KEY", []string{"ANTHROPIC_API_KEY=" + plantedSecret + "é"}},
	{"ANTHROPIC_API_KEY", []string{"ANTHROPIC_API_KEY=" + plantedSecret + "\x7f"}},
	{"GEMINI_API_KEY", []string{"GEMINI_API_KEY=\x00" + plantedSecret}},
	{"GOOGLE_API_KEY", []string{"GOOGLE_API_KEY=" + plantedSecret + "\xff"}},
	{"GOOGLE_API_KEY", []string{"GOOGLE_API_KEY=" + plantedSecret, "GEMINI_API_KEY=other"}},
	{"GEMINI_API_KEY", []string{"GOOGLE_API_KEY=a,b", "GEMINI_API_KEY=" + plantedSecret}},
	{"OPENAI_BASE_URL", []string{"OPENAI_BASE_URL=api.openai.com/v1"}},
	{"OPENAI_BASE_URL", []string{"OPENAI_BASE_URL=/v1"}},
	{"OPENAI_BASE_URL", []string{"OPENAI_BASE_URL=https://u:" + plantedSecret + "@h/v1"}},
	{"OPENAI_BASE_URL", []string{"OPENAI_BASE_URL=https://h/v1?key=" + plantedSecret}},
	{"OPENAI_BASE_URL", []string{"OPENAI_BASE_URL=https://h/v1 "}},
	{"ANTHROPIC_BASE_URL", []string{"ANTHROPIC_BASE_URL=file:///etc/passwd"}},
	{"ANTHROPIC_BASE_URL", []string{"ANTHROPIC_BASE_URL=https://:443"}},
	{"GEMINI_BASE_URL", []string{"GEMINI_BASE_URL=https://h:"}},
	{"GEMINI_BASE_URL", []string{"GEMINI_BASE_URL=https://h\\x"}},
	{"SIMULATOR", []string{"SIMULATOR=maybe"}},
	{"OPENAI_API_KEY", []string{"OPENAI_KEY=" + plantedSecret}},
	{"ANTHROPIC_API_KEY", []string{"CLAUDE_API_KEY=" + plantedSecret}},
	{"SIMULATOR", []string{"SIMULATOR=true", "OPENAI_BASE_URL=https://api.openai.com/v1"}},
	{"ANTHROPIC_BASE_URL", []string{"SIMULATOR=true", "ANTHROPIC_BASE_URL=https://h"}},
	{"MODELS_FILE", []string{"MODELS_FILE=/nowhere/models.yaml"}},
	{"MODELS_FILE", []string{"MODELS_FILE=."}},
	{"MODEL_DISCOVERY", []string{"MODEL_DISCOVERY=off"}},
	{"MODEL_REDIRECT_RETIRED", []string{"MODEL_REDIRECT_RETIRED=no"}},
	{"RATE_LIMIT_RPM", []string{"RATE_LIMIT_RPM=unlimited"}},
	{"AUTH_RATE_LIMIT_RPM", []string{"AUTH_RATE_LIMIT_RPM=1000001"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=10.0.0.0/33"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=10.0.0.1/8"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=nginx"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=0.0.0.0/0"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=10.0.0.0/8,::/0"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=0.0.0.0/0,::/0"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=fe80::1%eth0"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=::ffff:10.0.0.1"}},
	{"TRUSTED_PROXIES", []string{"TRUSTED_PROXIES=10.0.0.0/8,,::1"}},
	{"CORS_ALLOWED_ORIGINS", []string{"CORS_ALLOWED_ORIGINS=*,https://h"}},
	{"CORS_ALLOWED_ORIGINS", []string{"CORS_ALLOWED_ORIGINS=https://h/"}},
	{"CORS_ALLOWED_ORIGINS", []string{"CORS_ALLOWED_ORIGINS=null"}},
	{"CORS_ALLOWED_ORIGINS", []string{"CORS_ALLOWED_ORIGINS=app.example.com"}},
	{"CORS_ALLOWED_ORIGINS", []string{"CORS_ALLOWED_ORIGINS=https://*.example.com?"}},
	{"MAX_REQUEST_BYTES", []string{"MAX_REQUEST_BYTES=32MiB"}},
	{"MAX_REQUEST_BYTES", []string{"MAX_REQUEST_BYTES=0"}},
	{"UPSTREAM_TIMEOUT_SECONDS", []string{"UPSTREAM_TIMEOUT_SECONDS=10m"}},
	{"STREAM_IDLE_TIMEOUT_SECONDS", []string{"STREAM_IDLE_TIMEOUT_SECONDS=0"}},
	{"STREAM_FIRST_TOKEN_TIMEOUT_SECONDS", []string{"STREAM_FIRST_TOKEN_TIMEOUT_SECONDS=0"}},
	{"STREAM_MAX_SECONDS", []string{"STREAM_MAX_SECONDS=never"}},
	{"MAX_IN_FLIGHT", []string{"MAX_IN_FLIGHT=0"}},
	{"MAX_IN_FLIGHT_PER_CALLER", []string{"MAX_IN_FLIGHT_PER_CALLER=-1"}},
	{"MAX_IN_FLIGHT_BYTES", []string{"MAX_IN_FLIGHT_BYTES=1GiB"}},
	{"MAX_RETRIES", []string{"MAX_RETRIES=6"}},
	{"USAGE_RETENTION_DAYS", []string{"USAGE_RETENTION_DAYS=-1"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=$5"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=-5"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=.5"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=5."}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=0.0000001"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=1000000001"}},
	{"MAX_BUDGET_USD", []string{"MAX_BUDGET_USD=99999999999999999999"}},
	{"MAX_BUDGET_WINDOW", []string{"MAX_BUDGET_WINDOW=year"}},
	{"DEFAULT_PRICE_USD", []string{"DEFAULT_PRICE_USD=3"}},
	{"DEFAULT_PRICE_USD", []string{"DEFAULT_PRICE_USD=3/x"}},
	{"DEFAULT_PRICE_USD", []string{"DEFAULT_PRICE_USD=3/15/1"}},
	{"DEFAULT_KEY_EXPIRY_DAYS", []string{"DEFAULT_KEY_EXPIRY_DAYS=30d"}},
	{"DEFAULT_KEY_MODELS", []string{"DEFAULT_KEY_MODELS=a,,b"}},
	{"DEFAULT_KEY_MODELS", []string{"DEFAULT_KEY_MODELS=a b"}},
	{"DEFAULT_KEY_MODELS", []string{"DEFAULT_KEY_MODELS=a,a"}},
	{"DEFAULT_KEY_RPM", []string{"DEFAULT_KEY_RPM=many"}},
	{"DEFAULT_KEY_TPM", []string{"DEFAULT_KEY_TPM=1000000001"}},
	{"DEFAULT_KEY_MAX_PARALLEL", []string{"DEFAULT_KEY_MAX_PARALLEL=-1"}},
	{"DEFAULT_KEY_BUDGET_USD", []string{"DEFAULT_KEY_BUDGET_USD=1e3"}},
	{"DEFAULT_KEY_BUDGET_WINDOW", []string{"DEFAULT_KEY_BUDGET_WINDOW=Month"}},
	{"DEFAULT_USER_MODELS", []string{"DEFAULT_USER_MODELS=a,,b"}},
	{"DEFAULT_USER_RPM", []string{"DEFAULT_USER_RPM=many"}},
	{"DEFAULT_USER_TPM", []string{"DEFAULT_USER_TPM=1000000001"}},
	{"DEFAULT_USER_MAX_PARALLEL", []string{"DEFAULT_USER_MAX_PARALLEL=-1"}},
	{"DEFAULT_USER_BUDGET_USD", []string{"DEFAULT_USER_BUDGET_USD=1e3"}},
	{"DEFAULT_USER_BUDGET_WINDOW", []string{"DEFAULT_USER_BUDGET_WINDOW=Month"}},
	{"REGISTRATION", []string{"REGISTRATION=Open"}},
	{"REQUIRE_VERIFIED_EMAIL", []string{"REQUIRE_VERIFIED_EMAIL=yes"}},
	{"SMTP_URL", []string{"SMTP_URL=http://mail.example.com", "SMTP_FROM=a@b.example"}},
	{"SMTP_URL", []string{"SMTP_URL=smtp://mail.example.com/x", "SMTP_FROM=a@b.example"}},
	{"SMTP_URL", []string{"SMTP_URL=smtp://user@mail.example.com", "SMTP_FROM=a@b.example"}},
	{"SMTP_URL", []string{"SMTP_FROM=a@b.example"}},
	{"SMTP_FROM", []string{"SMTP_URL=smtp://mail.example.com"}},
	{"SMTP_FROM", []string{"SMTP_URL=smtp://mail.example.com", "SMTP_FROM=gateway"}},
	{"ALERT_WEBHOOK_URL", []string{"ALERT_WEBHOOK_URL=ftp://hooks.example.com", "ALERT_WEBHOOK_SECRET=" + goodWebhook}},
	{"ALERT_WEBHOOK_URL", []string{"ALERT_WEBHOOK_URL=https://u:p@hooks.example.com", "ALERT_WEBHOOK_SECRET=" + goodWebhook}},
	{"ALERT_WEBHOOK_URL", []string{"ALERT_WEBHOOK_SECRET=" + goodWebhook}},
	{"ALERT_WEBHOOK_SECRET", []string{"ALERT_WEBHOOK_URL=https://hooks.example.com"}},
	{"ALERT_WEBHOOK_SECRET", []string{"ALERT_WEBHOOK_URL=https://hooks.example.com", "ALERT_WEBHOOK_SECRET=whsec_c2hvcnQ="}},
	{"ADMIN_EMAILS", []string{"ADMIN_EMAILS=root"}},
	{"ADMIN_EMAILS", []string{"ADMIN_EMAILS=a@b.example,"}},
	{"ADMIN_EMAILS", []string{"ADMIN_EMAILS=a@b@c.example"}},
	{"HEDGE_AFTER_MS", []string{"HEDGE_AFTER_MS=1s"}},
	{"FALLBACK_AFTER_SECONDS", []string{"FALLBACK_AFTER_SECONDS=0"}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4"}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4="}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4=gpt-4"}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4=a,a"}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4=a;gpt-4=b"}},
	{"FALLBACKS", []string{"FALLBACKS=gpt-4=a;"}},
	{"STREAM_KEEPALIVE_SECONDS", []string{"STREAM_KEEPALIVE_SECONDS=1.5"}},
	{"SHUTDOWN_GRACE_SECONDS", []string{"SHUTDOWN_GRACE_SECONDS=forever"}},
	{"LOG_LEVEL", []string{"LOG_LEVEL=verbose"}},
	{"LOG_LEVEL", []string{"LOG_LEVEL=INFO+1"}},
	{"LOG_FORMAT", []string{"LOG_FORMAT=xml"}},
	{"LOG_FORMAT", []string{"LOG_FORMAT=json\nforged line"}},
}

func TestBadConfigurations(t *testing.T) {
	for _, test := range badConfigurations {
		t.Run(strings.Join(test.environ, " "), func(t *testing.T) {
			c, err := load(test.environ, "")
			var faults Faults
			if !errors.As(err, &faults) || c != nil {
				t.Fatalf("got %v, %v", c, err)
			}
			if len(faults) != 1 || strings.Contains(err.Error(), "\n") {
				t.Errorf("want one fault of one line, got %q", faults)
			}
			if !strings.Contains(err.Error(), test.setting) {
				t.Errorf("does not name %s: %v", test.setting, err)
			}
			if strings.Contains(err.Error(), plantedSecret) || strings.Contains(err.Error(), plantedSecret[:31]) {
				t.Errorf("shows the secret: %v", err)
			}
		})
	}
}

func TestGuessableSigningSecretsAreRefused(t *testing.T) {
	for _, weak := range []string{
		"changeme", "secret", "your-secret-key", "password",
		strings.Repeat("a", 64), strings.Repeat("0", 32), strings.Repeat("\t", 32), strings.Repeat("é", 32)[:32],
		strings.Repeat("changeme", 4), strings.Repeat("ChangeMe", 5), strings.Repeat("change-me_", 4),
		strings.Repeat("secret", 6), strings.Repeat("SECRET ", 6), strings.Repeat("secret", 6)[:33],
		"your-super-secret-jwt-key-at-least-32-characters-long", "Please-change-this-in-production-0123",
		"YOUR_JWT_SECRET_CHANGE_IN_PRODUCTION", "your-256-bit-secret-your-256-bit-secret",
		"abcdefghijklmnopqrstuvwxyz123456", "12345678901234567890123456789012",
		"super-secret-jwt-token-with-at-least-32-characters-long", "a-string-secret-at-least-256-bits-long", strings.Repeat("abc", 12),
		"qwertyuiopasdfghjklzxcvbnm1234567890", "correct horse battery staple, twice over", "correct-horse-battery-staple-2026!",
		strings.Repeat("mysecretkey", 3), "mysecretkey-mysecretkey-mysecretkey1", strings.Repeat("x7Kq9", 7), strings.Repeat("x7Kq9Lm2Wv8Z", 3)[:33],
		"0123456780123456781234567802345671", "9c1f0be24a7d45d39c1f0be24a7d45d3",
		"this-is-a-very-long-secret-key-for-jwt", "thisisaverylongsecretkeyforjwt12", "ThisIsAVeryLongSecretKeyForJwtTokens",
		"the quick brown fox jumps over the lazy dog",
		"REPLACE-BY-THE-OUTPUT-OF-openssl-rand-hex-32",
		strings.Repeat("password", 4), strings.Repeat("my-secret-key-", 3), "undefinedundefinedundefinedundefined",
	} {
		for _, environ := range [][]string{{"REQUIRE_AUTH=true", "JWT_SECRET=" + weak}, {"JWT_SECRET=" + weak}} {
			_, err := load(environ, "")
			var faults Faults
			if !errors.As(err, &faults) || len(faults) != 1 || !strings.HasPrefix(faults[0], "JWT_SECRET: ") {
				t.Errorf("%q: got %v", weak, err)
			}
		}
	}
}

func TestRandomSigningSecretsAreAccepted(t *testing.T) {
	for _, good := range []string{
		goodSigning,
		"83719402756183920475618392047561",
		"Zm9vYmFyIGlzIG5vdCBhIHNlY3JldA/+9xQ2",
		"совершенно случайная строка admin",
		"\x00\xff\x10\x80\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x90\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c",
	} {
		if c := mustLoad(t, "", "REQUIRE_AUTH=true", "JWT_SECRET="+good); c.JWTSecret.Reveal() != good {
			t.Errorf("%q became %q", good, c.JWTSecret.Reveal())
		}
	}
}

func TestRefusalOfASigningSecretSaysWhy(t *testing.T) {
	for secret, why := range map[string]string{
		"please-change-me-0123456789-abcdef-xyz": "it contains changeme",
		"secretkeysecretkeysecretkeysecretkey":   "it is a published example",
		"this-is-a-very-long-secret-key-for-jwt": "easy to guess: its words and characters are worth about 84 random bits, and 100 are needed",
		"83719402756183920475618392047561"[:31]:  "shorter than 32 bytes",
	} {
		_, err := load([]string{"JWT_SECRET=" + secret}, "")
		if err == nil || !strings.Contains(err.Error(), why) || !strings.HasSuffix(err.Error(), "generate one with: openssl rand -hex 32") {
			t.Errorf("%s: %v", secret, err)
		}
	}
}

func TestNoGeneratorOfSecretsIsRefused(t *testing.T) {
	const lower, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	random := rand.New(rand.NewPCG(1, 2))
	of := func(alphabet string, n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(text)
	}
	for name, generate := range map[string]func() string{
		"decimal": func() string { return of(digits, 32) }, "hexadecimal": func() string { return of(digits+"abcdef", 32) },
		"HEXADECIMAL": func() string { return of(digits+"ABCDEF", 64) }, "lower": func() string { return of(lower, 32) },
		"lower and digits": func() string { return of(lower+digits, 32) },
		"letters":          func() string { return of(lower+strings.ToUpper(lower), 32) },
		"base64":           func() string { return of(lower+strings.ToUpper(lower)+digits+"+/", 32) + "==" },
		"base64url":        func() string { return of(lower+strings.ToUpper(lower)+digits+"-_", 43) },
		"printable":        func() string { return of(lower+strings.ToUpper(lower)+digits+"!#%&()*+,-./:;<=>?@[]^_{|}~ ", 32) },
		"UUID": func() string {
			text := of(digits+"abcdef", 32)
			return text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-a" + text[17:20] + "-" + text[20:]
		},
	} {
		for range 5000 {
			if secret := generate(); guessBits(secret) < fewestBits {
				t.Errorf("%s: %s is worth %d bits", name, secret, guessBits(secret))
			}
		}
	}
}
