package config

import (
	"strings"
	"testing"
)

func TestMisspeltNamesAreFaults(t *testing.T) {
	tests := map[string]string{
		"REQUIRE_ATUH": "REQUIRE_AUTH", "REQUIREAUTH": "REQUIRE_AUTH", "REQUIRED_AUTH": "REQUIRE_AUTH", "require_auth": "REQUIRE_AUTH",
		"REQUIRE-AUTH": "REQUIRE_AUTH", "Require_Atuh": "REQUIRE_AUTH",
		"OPENAI_APIKEY": "OPENAI_API_KEY", "OPENAI_API_KEYS": "OPENAI_API_KEY", "OPEN_AI_API_KEY": "OPENAI_API_KEY",
		"OPNEAI_API_KEY":   "OPENAI_API_KEY",
		"OPENAI_API_KEY_2": "OPENAI_API_KEY", "OPENAI_BASEURL": "OPENAI_BASE_URL", "ANTHROPIC_APIKEY": "ANTHROPIC_API_KEY",
		"ANTROPIC_API_KEY": "ANTHROPIC_API_KEY", "GEMINI_API_KYE": "GEMINI_API_KEY", "GOOGLE_APIKEY": "GOOGLE_API_KEY",
		"RATE_LIMT_RPM": "RATE_LIMIT_RPM", "RATE_LIMIT_RPS": "RATE_LIMIT_RPM", "ATUH_RATE_LIMIT_RPM": "AUTH_RATE_LIMIT_RPM",
		"JWT_SECERT": "JWT_SECRET", "JWT_SECRET_FLIE": "JWT_SECRET_FILE", "JWT_SECRET_PREVOIUS": "JWT_SECRET_PREVIOUS", "JWTSECRET": "JWT_SECRET",
		"DATABASE_URI": "DATABASE_URL", "REDIS_ULR": "REDIS_URL", "LOG_LEVLE": "LOG_LEVEL", "LOGLEVEL": "LOG_LEVEL", "MODEL_FILE": "MODELS_FILE",
		"TRUSTED_PROXYS": "TRUSTED_PROXIES", "CORS_ALLOW_ORIGINS": "CORS_ALLOWED_ORIGINS", "ALLOWED_EMAIL_DOMAIN": "ALLOWED_EMAIL_DOMAINS",
		"SIMULATE": "SIMULATOR", "SHUTDOWN_GRACE_SECOND": "SHUTDOWN_GRACE_SECONDS", "port": "PORT", "Host": "HOST",
		"MAX_BUDGET": "MAX_BUDGET_USD", "max_budget": "MAX_BUDGET_USD", "DEFAULT_KEY_BUDGET": "DEFAULT_KEY_BUDGET_USD",
		"USAGE_RETENTION":  "USAGE_RETENTION_DAYS",
		"UPSTREAM_TIMEOUT": "UPSTREAM_TIMEOUT_SECONDS",
		"IDP_CLIENTID":     "IDP_CLIENT_ID", "IPD_CLIENT_SECRET": "IDP_CLIENT_SECRET",
	}
	for name, meant := range tests {
		want := name + " is not a setting; did you mean " + meant + "?"
		if _, err := load([]string{name + "=" + plantedSecret}, ""); err == nil || err.Error() != want {
			t.Errorf("environment: got %v, want %s", err, want)
		}
		dotenv := write(t, ".env", name+"="+plantedSecret+"\n")
		if _, err := load(nil, dotenv); err == nil || err.Error() != dotenv+": line 1: "+want {
			t.Errorf(".env: got %v, want %s", err, want)
		}
		if _, err := load([]string{name + "=" + plantedSecret, "GATEWAY_ENV_FILE=.env"}, ""); err == nil || err.Error() != ".env: "+want {
			t.Errorf("container: got %v, want %s", err, want)
		}
	}
}

func TestMisspeltNameWithUnprintableCharactersIsQuoted(t *testing.T) {
	const want = `"REQUIRE_AUTH\n" is not a setting; did you mean REQUIRE_AUTH?`
	if _, err := load([]string{"REQUIRE_AUTH\n=true"}, ""); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEveryTypingErrorOfOneKeyIsFound(t *testing.T) {
	known := allNames()
	for _, name := range known {
		if len(name) < minLength+1 {
			continue
		}
		for i := range len(name) - 1 {
			for _, slip := range []string{
				name[:i] + name[i+1:], name[:i] + string(name[i+1]) + string(name[i]) + name[i+2:], name[:i] + "Q" + name[i:],
				name[:i] + "Q" + name[i+1:],
			} {
				if slip != name && nearest(slip, known) == "" {
					t.Errorf("%s is not near %s", slip, name)
				}
			}
		}
	}
}

func TestOtherProgramsVariablesAreLeftAlone(t *testing.T) {
	foreign := strings.Fields(`
		PATH HOME USER SHELL PWD OLDPWD LANG LC_ALL TERM TZ TMPDIR EDITOR LOGNAME HOSTNAME HOSTTYPE SHLVL DISPLAY _
		XDG_RUNTIME_DIR SSH_AUTH_SOCK
		HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR
		GOPATH GOFLAGS GODEBUG GOMAXPROCS GOMEMLIMIT GOTRACEBACK GIN_MODE CGO_ENABLED GOPROXY CI GITHUB_TOKEN GITHUB_ACTIONS
		OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_ORGANIZATION OPENAI_API_BASE OPENAI_API_TYPE OPENAI_API_VERSION OPENAI_MODEL
		OPENAI_WEBHOOK_SECRET OPENAI_ADMIN_KEY OPENAI_LOG
		ANTHROPIC_MODEL ANTHROPIC_AUTH_TOKEN ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_VERTEX_PROJECT_ID ANTHROPIC_LOG ANTHROPIC_CUSTOM_HEADERS
		GEMINI_MODEL GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_GENAI_USE_VERTEXAI
		GOOGLE_GEMINI_BASE_URL GOOGLE_CSE_ID GOOGLE_MAPS_API_KEY
		GENAI_API_KEY AZURE_OPENAI_API_KEY AZURE_OPENAI_ENDPOINT XAI_API_KEY GROQ_API_KEY MISTRAL_API_KEY COHERE_API_KEY
		OPENROUTER_API_KEY DEEPSEEK_API_KEY TOGETHER_API_KEY HF_TOKEN
		REDIS_PORT REDIS_HOST REDIS_PASSWORD REDIS_DB REDIS_SSL REDIS_TTL REDIS_TLS REDIS_USER REDIS_USERNAME REDIS_PORT_6379_TCP
		REDIS_SERVICE_HOST REDIS_TLS_URL REDIS_VERSION REDIS_ARGS
		DATABASE_HOST DATABASE_USER DATABASE_NAME DATABASE_PASSWORD DATABASE_DSN POSTGRES_URL POSTGRES_USER POSTGRES_PASSWORD
		POSTGRES_DB PGHOST PGUSER PGPASSWORD PGDATABASE
		GATEWAY_PORT GATEWAY_SERVICE_HOST KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT POD_NAME POD_IP NODE_NAME
		DD_LOG_LEVEL K_LOG_LEVEL OTEL_LOG_LEVEL BP_LOG_LEVEL RUST_LOG RUST_LOG_LEVEL NX_LOG_FORMAT LOG_FILE LOG_DIR LOG_PATH
		LOG_FORMATTER DEBUG LOG_COLOR
		JWT_SECRET_KEY JWT_ALGORITHM JWT_ISSUER AUTH_SECRET NEXTAUTH_SECRET APP_SECRET GIT_SECRET SESSION_SECRET SECRET_KEY
		APP_CLIENT_ID APP_CLIENT_SECRET OIDC_CLIENT_ID OIDC_CLIENT_SECRET OIDC_ISSUER AD_CLIENT_ID GCP_CLIENT_ID AZURE_CLIENT_ID
		AZURE_CLIENT_SECRET ARM_CLIENT_ID ARM_CLIENT_SECRET
		LDAP_CLIENT_ID IAP_CLIENT_ID GITHUB_CLIENT_ID GITHUB_CLIENT_SECRET GOOGLE_CLIENT_ID GOOGLE_CLIENT_SECRET
		NEXT_PUBLIC_URL VITE_PUBLIC_URL MY_PUBLIC_URL CI_REDIS_URL PUBLIC_DIR PUBLIC_IP BASE_URL RATE_LIMIT RATE_LIMIT_MAX
		MAX_REQUESTS EMULATOR
		EXPO_PORT WEB_PORT HTTP_PORT PORTS HOSTS HOSTALIASES npm_config_port COMPOSE_PROJECT_NAME DOCKER_HOST VIRTUAL_HOST`)
	var environ []string
	for _, name := range foreign {
		environ = append(environ, name+"=value")
	}
	if _, err := load(environ, ""); err != nil {
		t.Errorf("environment: %v", err)
	}
}

func TestUnknownNamesInDotenvAreFaults(t *testing.T) {
	for _, name := range []string{"OPENAI_KEY", "CLAUDE_API_KEY", "DB_URL", "RATE_LIMIT", "GOMEMLIMIT", "PATH", "PROT", "REDIS"} {
		if _, err := load(nil, write(t, ".env", name+"=value\n")); err == nil || !strings.Contains(err.Error(), "line 1: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"GATEWAY_ENV_FILE", "PUBLISH_ADDRESS", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "COMPOSE_PROJECT_NAME", "DOCKER_HOST",
	} {
		if _, err := load(nil, write(t, ".env", name+"=value\n")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownNamesInTheEnvironmentOfAContainerAreFaults(t *testing.T) {
	own := []string{
		"GATEWAY_ENV_FILE=.env", "PATH=/bin", "HOSTNAME=4f2e", "HOME=/", "SSL_CERT_FILE=/x", "GOMEMLIMIT=1GiB", "https_proxy=x", "NO_PROXY=x",
		"LITELLM_DATABASE_URL=x", "LITELLM_SALT_KEY=x", "LITELLM_MASTER_KEY_FILE=/x",
		"POSTGRES_PASSWORD=x", "COMPOSE_PROFILES=monitoring", "PORT=81", "GATEWAY_PUBLISHED_PORT=8081",
	}
	if _, err := load(own, ""); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"OPENAI_KEY", "CLAUDE_API_KEY", "DB_URL"} {
		_, err := load(append(own, name+"="+plantedSecret), "")
		if err == nil || !strings.HasPrefix(err.Error(), ".env: "+name+" is not a setting") || strings.Contains(err.Error(), plantedSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
