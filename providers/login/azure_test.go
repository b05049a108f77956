package login_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/config"
	"modelgateway/providers/login"
)

const clientSecret = "HUSH~of+the client"

// azure makes a log-in that must be right.
func azure(t *testing.T, opts login.Azure) *login.AzureLogin {
	t.Helper()
	l, err := login.NewAzure(opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// form compares what a token endpoint was sent.
func form(t *testing.T, r *http.Request, want url.Values) {
	t.Helper()
	if err := r.ParseForm(); err != nil || r.PostForm.Encode() != want.Encode() {
		t.Errorf("the form is %v, want %v", r.PostForm, want)
	}
}

func TestAzureExchangesTheClientSecret(t *testing.T) {
	none(t)
	address, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/contoso/oauth2/v2.0/token" {
			t.Errorf("asked %s", r.URL)
		}
		form(t, r, url.Values{
			"grant_type": {"client_credentials"}, "client_id": {"app"}, "client_secret": {clientSecret},
			"scope": {"https://cognitiveservices.azure.com/.default"},
		})
		token(w, "t1", 3600)
	})
	t.Setenv("AZURE_TENANT_ID", "contoso")
	t.Setenv("AZURE_CLIENT_ID", "app")
	t.Setenv("AZURE_CLIENT_SECRET", clientSecret)
	t.Setenv("AZURE_AUTHORITY_HOST", address+"/")
	l := azure(t, login.Azure{})
	if calls.Load() != 0 {
		t.Error("NewAzure asked the server")
	}
	together(t, l.Sign)
	bearer(t, l.Sign, "t1")
	if err := l.Check(t.Context()); err != nil || calls.Load() != 1 {
		t.Errorf("the server was asked %d times: %v", calls.Load(), err)
	}
}

func TestAzureReadsTheFederatedTokenForEachExchange(t *testing.T) {
	none(t)
	var fails atomic.Bool
	seen := make(chan string, 9)
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.FormValue("client_assertion")
		if fails.Load() {
			refuse(w, "invalid_client", "AADSTS700213: no match for "+r.FormValue("client_assertion"))
			return
		}
		form(t, r, url.Values{
			"grant_type": {"client_credentials"}, "client_id": {"app"}, "scope": {"https://ai.azure.com/.default"},
			"client_assertion":      {"first.HUSH.assertion"},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		})
		token(w, "t1", 11) // is used for a second
	})
	path := write(t, "token", "first.HUSH.assertion\n")
	opts := login.Azure{Tenant: "contoso", ClientID: "app", FederatedTokenFile: path, AuthorityHost: address, Scope: "https://ai.azure.com/.default"}
	l := azure(t, opts)
	bearer(t, l.Sign, "t1")
	fails.Store(true)
	if err := os.WriteFile(path, []byte("second.HUSH.assertion"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	failing(t, l.Sign, "AZURE_FEDERATED_TOKEN_FILE")
	if first, second := <-seen, <-seen; first != "first.HUSH.assertion" || second != "second.HUSH.assertion" {
		t.Errorf("sent %s, then %s", first, second)
	}
}

func TestAzureAsksForTheManagedIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		environment map[string]string
		client      string
		query       url.Values
		header      map[string]string
		expires     string // the number, or a text of it
	}{
		"of a virtual machine": {
			environment: map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "ADDRESS"},
			query:       url.Values{"api-version": {"2018-02-01"}, "resource": {"https://cognitiveservices.azure.com"}},
			header:      map[string]string{"Metadata": "true"}, expires: `"%d"`,
		},
		"one of several": {
			environment: map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "ADDRESS/"}, client: "mine",
			query: url.Values{
				"api-version": {"2018-02-01"}, "resource": {"https://cognitiveservices.azure.com"}, "client_id": {"mine"},
			},
			header: map[string]string{"Metadata": "true"}, expires: `%d`,
		},
		"of App Service": {
			environment: map[string]string{"IDENTITY_ENDPOINT": "ADDRESS/metadata/identity/oauth2/token", "IDENTITY_HEADER": "HUSH-of-the-service"},
			query:       url.Values{"api-version": {"2019-08-01"}, "resource": {"https://cognitiveservices.azure.com"}},
			header:      map[string]string{"X-IDENTITY-HEADER": "HUSH-of-the-service"}, expires: `"%d"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			none(t)
			var fails atomic.Bool
			address, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if fails.Load() {
					refuse(w, "invalid_request", "Identity not found for "+r.Header.Get("X-IDENTITY-HEADER"))
					return
				}
				if r.Method != http.MethodGet || r.URL.Path != "/metadata/identity/oauth2/token" || r.URL.RawQuery != c.query.Encode() {
					t.Errorf("asked %s %s", r.Method, r.URL)
				}
				for name, value := range c.header {
					if r.Header.Get(name) != value {
						t.Errorf("%s is %q", name, r.Header.Get(name))
					}
				}
				end := fmt.Sprintf(c.expires, time.Now().Add(time.Hour).Unix())
				_, _ = fmt.Fprintf(w, `{"access_token":"of the machine","expires_on":%s,"token_type":"Bearer"}`, end)
			})
			for name, value := range c.environment {
				t.Setenv(name, strings.Replace(value, "ADDRESS", address, 1))
			}
			l := azure(t, login.Azure{ManagedIdentity: true, ClientID: c.client})
			together(t, l.Sign)
			bearer(t, l.Sign, "of the machine")
			if calls.Load() != 1 {
				t.Errorf("asked %d times", calls.Load())
			}
			if shown := fmt.Sprintf("%+v %#v", l, l); strings.Contains(shown, "HUSH") {
				t.Errorf("printed, it is %s", shown)
			}
			fails.Store(true)
			failing(t, azure(t, login.Azure{ManagedIdentity: true, ClientID: c.client}).Sign, "AZURE_CLIENT_ID")
		})
	}
}

func TestAzureNamesTheSettingThatIsMissing(t *testing.T) {
	secret := config.NewSecret(clientSecret)
	for setting, opts := range map[string]login.Azure{
		"AZURE_CLIENT_SECRET":        {Tenant: "contoso", ClientID: "app"},
		"AZURE_TENANT_ID":            {ClientID: "app", ClientSecret: secret},
		"AZURE_CLIENT_ID":            {Tenant: "contoso", ClientSecret: secret},
		"AZURE_FEDERATED_TOKEN_FILE": {Tenant: "contoso", ClientID: "app", FederatedTokenFile: "/no/such/file"},
		"AZURE_AUTHORITY_HOST":       {Tenant: "contoso", ClientID: "app", ClientSecret: secret, AuthorityHost: "http://login.example"},
		"IDENTITY_HEADER":            {ManagedIdentity: true},
	} {
		t.Run(setting, func(t *testing.T) {
			none(t)
			if opts.ManagedIdentity {
				t.Setenv("IDENTITY_ENDPOINT", "http://localhost:40342/metadata/identity/oauth2/token")
			}
			l, err := login.NewAzure(opts)
			if err == nil || !strings.Contains(err.Error(), setting) || strings.Contains(err.Error(), "HUSH") {
				t.Errorf("got %v, want an error that names %s", err, setting)
			}
			if l != nil && err != nil {
				t.Error("a log-in that failed was returned")
			}
		})
	}
}

func TestAzureSaysWhyThereIsNoToken(t *testing.T) {
	none(t)
	long := strings.Repeat("Trace ID: 0000 ", 100)
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		refuse(w, "invalid_client", "AADSTS7000215: Invalid client secret provided: "+r.FormValue("client_secret")+"\r\n"+long)
	})
	opts := login.Azure{Tenant: "contoso", ClientID: "app", ClientSecret: config.NewSecret(clientSecret), AuthorityHost: address}
	text := failing(t, azure(t, opts).Sign, "AZURE_CLIENT_SECRET")
	const want = "azure log-in: the token endpoint answered 401 invalid_client (AADSTS7000215: Invalid client secret provided: [redacted] Trace"
	if !strings.HasPrefix(text, want) {
		t.Errorf("got %s", text)
	}

	elsewhere, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) { token(w, "stolen", 3600) })
	opts.AuthorityHost, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	failing(t, azure(t, opts).Sign, "AZURE_TENANT_ID")
	if calls.Load() != 0 {
		t.Error("the secret was sent to where a redirect pointed")
	}

	opts.AuthorityHost = "http://127.0.0.1:1"
	failing(t, azure(t, opts).Sign, "connection refused")
}

// A token of twelve seconds is used for two, and renewed after one.
func TestTokensRenewWhileCallsGoOn(t *testing.T) {
	none(t)
	held := make(chan struct{})
	var calls *atomic.Int64
	var address string
	address, calls = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Load() > 1 {
			<-held
			token(w, "second", 3600)
			return
		}
		token(w, "first", 12)
	})
	l := azure(t, login.Azure{Tenant: "contoso", ClientID: "app", ClientSecret: config.NewSecret(clientSecret), AuthorityHost: address})
	bearer(t, l.Sign, "first")
	time.Sleep(1100 * time.Millisecond)
	bearer(t, l.Sign, "first") // does not wait
	eventually(t, func() bool { return calls.Load() == 2 }, "the renewal")
	bearer(t, l.Sign, "first")
	close(held)
	eventually(t, func() bool { return signed(t, l.Sign, "").Get("Authorization") == "Bearer second" }, "the second token")
	if calls.Load() != 2 {
		t.Errorf("asked %d times", calls.Load())
	}
}
