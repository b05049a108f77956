package docs

// run is some commands of a page, which one shell runs in the order of the page.
type run struct {
	page     string
	blocks   []string          // how each begins
	settings []string          // of the gateway and of its command line
	token    string            // whose login token the command has as $TOKEN: user or administrator; empty = it needs none
	replace  map[string]string // what a reader replaces as well
	want     []string          // in what they print, in this order
}

const (
	requireAuth = "REQUIRE_AUTH=true"
	oneOfAda    = `"$(modelgateway key list --user ada@example.com | grep -o 'key_[A-Z0-9]*')"`
)

func runs() []run {
	return []run{
		{page: "README.md", blocks: []string{"curl -s localhost:8080/v1/chat"}, want: []string{`"object":"chat.completion"`, `"content":"`}},
		{
			page: "README.md", blocks: []string{"export REQUIRE_AUTH=true"}, settings: []string{requireAuth},
			want: []string{`"ada@example.com"`, `"object":"list"`},
		},
		{page: "README.md", blocks: []string{"modelgateway user create"}, settings: []string{requireAuth}, want: []string{"ada@example.com"}},
		{
			page: "docs/quick-start.md",
			blocks: []string{
				"curl -s http://localhost:8080/v1/chat", "curl -s http://localhost:8080/v1/messages", "curl -s http://localhost:8080/v1/models",
			},
			want: []string{`"object":"chat.completion"`, `"type":"message"`, `"object":"response"`, `"object":"list"`},
		},
		{
			page: "docs/deploy.md", blocks: []string{"modelgateway check", "curl -s http://localhost:8080/readyz"},
			want: []string{`{"status":"ok"`},
		},
		{
			page: "docs/providers.md", blocks: []string{"modelgateway check --live"},
			want: []string{"gemini: the calls cost at most $0.00", "as expected", "0 of 26 lines differ"},
		},
		{
			page: "docs/accounts.md", settings: []string{requireAuth, "REGISTRATION=invite"}, replace: map[string]string{"KEY_ID": oneOfAda},
			blocks: []string{
				"modelgateway admin create", "for name in ada", "KEY=$(modelgateway user create --email fay", "modelgateway user invite --email gil",
				"modelgateway team create", "modelgateway key list", "modelgateway user disable", "modelgateway user erase",
				"modelgateway user reset-password",
			},
			want: []string{
				"root@example.com", "bea@example.com", `"object":"chat.completion"`, "fay@example.com", "gil@example.com", "research",
				"laptop", "mgw_", "bea@example.com is a manager", "is erased: only the id is left", "reset",
			},
		},
		{
			page: "docs/accounts.md", blocks: []string{"curl -s http://localhost:8080/auth/login"}, settings: []string{requireAuth}, token: "user",
			replace: map[string]string{"…": "correct horse battery"}, want: []string{`"token":`, `"object":"list"`},
		},
		{
			page: "docs/authentication.md", blocks: []string{"curl -s localhost:8080/auth/register "}, settings: []string{requireAuth},
			want: []string{`"ada@example.com"`, `"object":"list"`, `"my app"`},
		},
		{
			page: "docs/authentication.md", blocks: []string{"curl -s localhost:8080/admin/users"}, settings: []string{requireAuth},
			token: "administrator", want: []string{"bob@example.com"},
		},
		{
			page: "docs/backup.md", blocks: []string{"modelgateway backup", "modelgateway restore"},
			replace: map[string]string{"/backups/": "$PWD/", "modelgateway restore": "DATABASE_URL=sqlite:$PWD/new.db modelgateway restore"},
		},
		{
			page: "docs/finance.md", blocks: []string{"modelgateway statement", `curl -s "http://localhost:8080/admin/statement`},
			settings: []string{requireAuth}, token: "administrator", replace: map[string]string{"-o month.csv": ""},
			want: []string{"TEAM", "$0.000000", "month,team,user,project,model"},
		},
		{
			page: "docs/finance.md", blocks: []string{"modelgateway user limits"}, settings: []string{requireAuth, "DEFAULT_USER_BUDGET_USD=10"},
			token: "user", want: []string{"ada@example.com: the default budget and $20.00 more until "},
		},
		{
			page: "docs/finance.md", blocks: []string{`curl -s "http://localhost:8080/v1/usage`}, settings: []string{requireAuth}, token: "user",
			want: []string{`"series":`},
		},
		{
			page: "docs/security.md", blocks: []string{"modelgateway check", "modelgateway audit", "modelgateway user disable"},
			settings: []string{requireAuth}, token: "administrator",
			replace: map[string]string{
				"modelgateway check":        "modelgateway check; modelgateway user create --email ada@example.com --key laptop",
				"modelgateway audit --from": "cat people.csv; modelgateway audit --from", "> today.jsonl": "",
				"modelgateway key revoke KEY_ID": "modelgateway key revoke " + oneOfAda,
			},
			want: []string{"user.create", `"action":"user.create"`, "key.create", "disabled", "revoked"},
		},
		{
			page: "docs/spend.md", blocks: []string{"modelgateway user create"}, settings: []string{requireAuth},
			want: []string{"ada@example.com", "research", "COST"},
		},
		{
			page: "docs/spend.md", blocks: []string{`curl -s "http://localhost:8080/v1/sessions`}, settings: []string{requireAuth}, token: "user",
			want: []string{`"has_more":false,"next_after":null`},
		},
	}
}

// elsewhere are the commands that the runs above leave out, by page and beginning: the test that runs
// them, or why none does.
func elsewhere() map[string]string {
	const (
		docker   = "Docker is not needed for the tests; tests/monitoring compares the compose file with the settings, and runs the program with its environment"
		demo     = "tests/console, TestNewcomerFindsTheirWayThroughTheDemonstration, which starts the program as this does"
		release  = "deploy/release, TestChecksumsAreReadBySha256sum and TestSignaturesAreVerifiedByOpenssl; "
		packages = "needs root and a package manager; deploy/release, TestSystemdAcceptsTheService and TestPackagesNameFilesThatExist"
	)
	return map[string]string{
		"README.md: make demo":                       demo,
		"README.md: from openai import OpenAI":       "needs Python's package; the same request by JavaScript: tests/agents, TestExamplesOfTheDocumentWork",
		"README.md: npm install -g @anthropic-ai":    "the same as in docs/clients.md: tests/agents, TestExamplesOfTheDocumentWork",
		"README.md: export OPENAI_API_KEY=…":         "needs keys of vendors",
		"README.md: cp .env.example .env":            docker,
		"docs/quick-start.md: make demo":             demo,
		"docs/quick-start.md: cp .env.example .env":  docker,
		"docs/deploy.md: make build":                 "the same command as in make demo",
		"docs/deploy.md: cp .env.example .env":       docker,
		"docs/accounts.md: OPENAI_API_KEY=…":         "settings, not commands: TestSettingsOfThePageOnAccountsAreValid",
		"docs/operations.md: docker compose":         docker,
		"docs/backup.md: umask 077":                  "tests/storage, byRecipe, with PostgreSQL",
		"docs/backup.md: psql":                       "tests/storage, byRecipe, with PostgreSQL",
		"docs/clients.md: npm install":               "tests/agents, TestExamplesOfTheDocumentWork",
		"docs/clients.md: export ANTHROPIC_BASE_URL": "tests/agents, TestExamplesOfTheDocumentWork",
		"docs/clients.md: export OPENAI_BASE_URL":    "TestSettingsOfOtherClientsReachTheGateway",
		"docs/clients.md: from llama_index":          "TestSettingsOfOtherClientsReachTheGateway",
		"docs/clients.md: export OPENAI_API_BASE":    "TestSettingsOfOtherClientsReachTheGateway",
		"docs/codex.md: export MODELGATEWAY_API_KEY": "tests/agents, TestExamplesOfTheDocumentWork",
		"docs/kubernetes.md: kubectl":                "tests/deploy, TestCommandsOfThePageOnKubernetesWork",
		"docs/kubernetes.md: helm template":          "tests/deploy, TestCommandsOfThePageOnKubernetesWork",
		"docs/litellm.md: ":                          "TestCommandsOfThePageOnLiteLLMWork",
		"docs/reverse-proxies.md: HOST=127.0.0.1":    "tests/deploy, TestSettingsOfThePageOnProxiesAreValid",
		"docs/reverse-proxies.md: curl":              "tests/deploy, TestCommandsOfThePageOnProxiesWork",
		"docs/upgrade.md: sha256sum --check":         release,
		"docs/upgrade.md: cosign verify-blob --key":  release + "cosign is not in Debian",
		"docs/upgrade.md: cosign verify-blob --bund": "needs a release that a public forge has made",
		"docs/upgrade.md: sudo apt install":          packages,
		"docs/upgrade.md: sudo -u modelgateway":      packages,
	}
}
