package cloudtest

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

// What the stand-in of Microsoft knows: a tenant, a program that is registered in it, and the
// key of a resource.
const (
	Tenant       = "11111111-2222-3333-4444-555555555555"
	ClientID     = "66666666-7777-8888-9999-000000000000"
	ClientSecret = "stand~in~client~secret~0000000001"
	Assertion    = "a-federated-token"
	ResourceKey  = "00000000standinresourcekey000001"

	cognitive = "https://cognitiveservices.azure.com"
	foundry   = "https://ai.azure.com"
)

// Azure is Azure OpenAI, Foundry, Entra and the metadata of a machine, on one address.
type Azure struct{ Cloud }

// NewAzure serves Microsoft until the test ends.
func NewAzure(t testing.TB, models http.Handler) *Azure {
	t.Helper()
	a, paths := &Azure{}, http.NewServeMux()
	for _, path := range []string{"chat/completions", "responses", "embeddings"} {
		paths.HandleFunc("POST /openai/v1/"+path, a.authorized([]string{cognitive, foundry}, []string{"Api-Key"},
			func(w http.ResponseWriter, r *http.Request) { a.askOpenAI(w, r, "/v1/"+path, "") }))
	}
	for _, path := range []string{"", "/count_tokens"} {
		paths.HandleFunc("POST /anthropic/v1/messages"+path, a.authorized([]string{foundry}, []string{"X-Api-Key", "Api-Key"},
			func(w http.ResponseWriter, r *http.Request) {
				header := asAnthropic(r.Header.Values("Anthropic-Beta")...)
				header["Anthropic-Version"] = r.Header.Values("Anthropic-Version")
				a.ask(w, r, "/v1/messages"+path, readBody(r), header)
			}))
	}
	paths.HandleFunc("POST /{tenant}/oauth2/v2.0/token", a.logIn(refuseClient, a.token))
	paths.HandleFunc("GET /metadata/identity/oauth2/token", a.logIn(func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", "invalid_request", "error_description", "Identity not found"})
	}, a.identity))
	paths.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuseAzure(w, http.StatusNotFound, "Resource not found")
	})
	a.start(t, models, paths)
	return a
}

func refuseAzure(w http.ResponseWriter, status int, message string) {
	wire.WriteJSON(w, status, rawjson.Object{"error", rawjson.Object{"code", http.StatusText(status), "message", message}})
}

// authorized serves requests with a token for one of the audiences, or with a key in one of
// the headers.
func (a *Azure) authorized(audiences, headers []string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range headers {
			if key := r.Header.Get(name); equal(key, ResourceKey) {
				a.accept(r, "key", nil)
				serve(w, r)
				return
			} else if key != "" {
				refuseAzure(w, http.StatusUnauthorized, "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide "+
					"a valid key for an active subscription and use a correct regional API endpoint for your resource.")
				return
			}
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		g, known := a.granted(token)
		for _, audience := range audiences {
			if known && !g.expired() && g.audience == audience {
				a.accept(r, "bearer", nil)
				serve(w, r)
				return
			}
		}
		refuseAzure(w, http.StatusUnauthorized, "Unauthorized. Access token is missing, invalid, audience is incorrect ("+audiences[0]+
			"), or have expired.")
	}
}

// grantFor issues a token for a resource.
func (a *Azure) grantFor(resource string) (token string, expires time.Time, seconds int) {
	token, g, lifetime := a.issue("eyJ0eXAi.", grant{audience: resource})
	return token, g.expires, int(lifetime.Seconds())
}

// token is Entra's, for a secret or for a token of another issuer.
func (a *Azure) token(w http.ResponseWriter, r *http.Request) {
	id, secret := r.FormValue("client_id"), r.FormValue("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, secret = user, password
	}
	resource, isDefault := strings.CutSuffix(r.FormValue("scope"), "/.default")
	federated := r.FormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
		equal(r.FormValue("client_assertion"), Assertion)
	switch {
	case r.PathValue("tenant") != Tenant:
		refuseEntra(w, http.StatusBadRequest, "invalid_request", "AADSTS90002: Tenant '"+r.PathValue("tenant")+"' not found. "+
			"Check to make sure you have the correct tenant ID and are signing into the correct cloud.", 90002)
	case id != ClientID:
		refuseEntra(w, http.StatusBadRequest, "unauthorized_client", "AADSTS700016: Application with identifier '"+id+"' was not found.", 700016)
	case !equal(secret, ClientSecret) && !federated:
		refuseClient(w, r)
	case r.FormValue("grant_type") != "client_credentials" || !isDefault || resource != cognitive && resource != foundry:
		refuseEntra(w, http.StatusBadRequest, "invalid_scope", "AADSTS70011: The provided request must include a 'scope' input parameter. "+
			"The provided value for the input parameter 'scope' is not valid.", 70011)
	default:
		token, _, seconds := a.grantFor(resource)
		wire.WriteJSON(w, http.StatusOK, rawjson.Object{"token_type", "Bearer", "expires_in", seconds, "ext_expires_in", seconds, "access_token", token})
	}
}

func refuseClient(w http.ResponseWriter, _ *http.Request) {
	refuseEntra(w, http.StatusUnauthorized, "invalid_client", "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in "+
		"the request is the client secret value, not the client secret ID, for a secret added to app '"+ClientID+"'.", 7000215)
}

func refuseEntra(w http.ResponseWriter, status int, kind, description string, code int) {
	wire.WriteJSON(w, status, rawjson.Object{
		"error", kind, "error_description", description, "error_codes", []int{code}, "timestamp", time.Now().UTC().Format("2006-01-02 15:04:05Z"),
		"trace_id", "0", "correlation_id", "0",
	})
}

// identity is the metadata service of a machine with a managed identity. Its numbers are
// strings.
func (a *Azure) identity(w http.ResponseWriter, r *http.Request) {
	resource := strings.TrimSuffix(r.FormValue("resource"), "/")
	if r.Header.Get("Metadata") != "true" || r.FormValue("api-version") == "" || resource != cognitive && resource != foundry {
		wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", "invalid_request", "error_description", "Required metadata header not specified"})
		return
	}
	token, expires, seconds := a.grantFor(resource)
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{
		"access_token", token, "client_id", ClientID, "expires_in", strconv.Itoa(seconds), "expires_on", strconv.FormatInt(expires.Unix(), 10),
		"resource", resource, "token_type", "Bearer",
	})
}
