package cloudtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// What the stand-in of Google knows: a project, a service account and a user.
const (
	Project      = "stand-in-project"
	APIKey       = "AIzaStandIn000000000000000000000000001"
	account      = "gateway@stand-in-project.iam.gserviceaccount.com"
	keyID        = "0123456789abcdef"
	refreshToken = "1//stand-in-refresh-token"
	clientSecret = "GOCSPX-stand-in-client-secret"
	cloudScope   = "https://www.googleapis.com/auth/cloud-platform"
)

// Google is Vertex AI, the service that gives tokens and the metadata of an instance, on one
// address.
type Google struct {
	Cloud
	key *rsa.PrivateKey // of the service account
}

// NewGoogle serves Google until the test ends.
func NewGoogle(t testing.TB, models http.Handler) *Google {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g, paths := &Google{key: key}, http.NewServeMux()
	for _, v := range []string{"v1", "v1beta1"} {
		place := "POST /" + v + "/projects/{project}/locations/{location}/"
		paths.HandleFunc(place+"publishers/anthropic/models/{call}", g.authorized(false, g.claude))
		paths.HandleFunc(place+"publishers/google/models/{call}", g.authorized(true, g.gemini))
		paths.HandleFunc(place+"endpoints/openapi/chat/completions", g.authorized(false, g.open))
		paths.HandleFunc("POST /"+v+"/publishers/google/models/{call}", g.authorized(true, g.gemini))
	}
	paths.HandleFunc("POST /token", g.logIn(refuseGrant, g.token))
	const metadata = "GET /computeMetadata/v1/"
	paths.HandleFunc(metadata+"instance/service-accounts/default/token", inMetadata(g.logIn(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	}, func(w http.ResponseWriter, _ *http.Request) { g.grant(w) })))
	paths.HandleFunc(metadata+"project/project-id", inMetadata(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(Project)) // it fails only when the client has disconnected
	}))
	paths.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuseGoogle(w, http.StatusNotFound, "Not found") })
	g.start(t, models, paths)
	return g
}

// ServiceAccount writes the credentials file of a service account, and returns its name.
func (g *Google) ServiceAccount(t testing.TB) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(g.key)
	if err != nil {
		t.Fatal(err)
	}
	return g.file(t, rawjson.Object{
		"type", "service_account", "project_id", Project, "private_key_id", keyID, "client_email", account, "client_id", "1",
		"private_key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri", g.URL + "/token",
	})
}

// User writes the credentials file of a user, as gcloud does, and returns its name.
func (g *Google) User(t testing.TB) string {
	t.Helper()
	return g.file(t, rawjson.Object{
		"type", "authorized_user", "client_id", "stand-in", "client_secret", clientSecret, "refresh_token", refreshToken,
		"quota_project_id", Project, "token_uri", g.URL + "/token",
	})
}

func (g *Google) file(t testing.TB, content rawjson.Object) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(name, rawjson.Encode(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func (g *Google) grant(w http.ResponseWriter) {
	token, _, lifetime := g.issue("ya29.", grant{})
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"access_token", token, "expires_in", int(lifetime.Seconds()), "token_type", "Bearer"})
}

// token exchanges the assertion of a service account, or the refresh token of a user.
func (g *Google) token(w http.ResponseWriter, r *http.Request) {
	switch r.FormValue("grant_type") {
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		var claims struct {
			jwt.RegisteredClaims
			Scope string `json:"scope"`
		}
		_, err := jwt.ParseWithClaims(r.FormValue("assertion"), &claims, func(*jwt.Token) (any, error) { return &g.key.PublicKey, nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(account), jwt.WithAudience(g.URL+"/token"), jwt.WithExpirationRequired())
		if err != nil {
			refuseGrant(w, r)
			return
		}
		if !strings.Contains(" "+claims.Scope+" ", " "+cloudScope+" ") {
			wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", "invalid_scope", "error_description", "Invalid OAuth scope or ID token audience provided."})
			return
		}
	case "refresh_token":
		if !equal(r.FormValue("refresh_token"), refreshToken) || !equal(r.FormValue("client_secret"), clientSecret) {
			refuseGrant(w, r)
			return
		}
	default:
		wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", "unsupported_grant_type"})
		return
	}
	g.grant(w)
}

func refuseGrant(w http.ResponseWriter, _ *http.Request) {
	wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", "invalid_grant", "error_description", "Invalid JWT Signature."})
}

// inMetadata serves the metadata of an instance, which wants and sends a header.
func inMetadata(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		serve(w, r)
	}
}

func refuseGoogle(w http.ResponseWriter, status int, message string) {
	f := gemini.Failure(status, message)
	wire.Handler(func(http.ResponseWriter, *http.Request) *wire.Failure { return f }).ServeHTTP(w, nil)
}

// authorized serves requests with a token, or with a key where keys are taken.
func (g *Google) authorized(keys bool, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		key, of := r.Header.Get("X-Goog-Api-Key"), r.PathValue("project")
		granted, known := g.granted(token)
		switch {
		case key != "" && !keys:
			refuseGoogle(w, http.StatusUnauthorized, "API keys are not supported by this API. Expected OAuth2 access token or other "+
				"authentication credentials that assert a principal. See https://cloud.google.com/docs/authentication")
		case key != "" && !equal(key, APIKey):
			refuseGoogle(w, http.StatusBadRequest, "API key not valid. Please pass a valid API key.")
		case key == "" && (!known || granted.expired()):
			refuseGoogle(w, http.StatusUnauthorized, "Request had invalid authentication credentials. Expected OAuth 2 access token, "+
				"login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.")
		case of != "" && of != Project:
			refuseGoogle(w, http.StatusForbidden, fmt.Sprintf("Permission 'aiplatform.endpoints.predict' denied on resource "+
				"'//aiplatform.googleapis.com/projects/%s/locations/%s' (or it may not exist).", of, r.PathValue("location")))
		default:
			g.accept(r, map[bool]string{true: "key", false: "bearer"}[key != ""], nil)
			serve(w, r)
		}
	}
}

// claude is Claude by rawPredict and streamRawPredict, and its token count.
func (g *Google) claude(w http.ResponseWriter, r *http.Request) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	members, ok := readObject(r)
	counting := name == "count-tokens"
	switch {
	case !ok || method != "rawPredict" && method != "streamRawPredict":
		refuseGoogle(w, http.StatusBadRequest, "Request contains an invalid argument.")
		return
	case jsonbytes.Text(members["anthropic_version"]) != "vertex-2023-10-16":
		refuseClaude(w, `anthropic_version: Input should be "vertex-2023-10-16"`)
		return
	case members["model"] != nil && !counting:
		refuseClaude(w, "model: Extra inputs are not permitted")
		return
	case counting && members["max_tokens"] != nil:
		refuseClaude(w, "max_tokens: Extra inputs are not permitted")
		return
	}
	delete(members, "anthropic_version")
	path := "/v1/messages"
	if counting {
		path, name = "/v1/messages/count_tokens", jsonbytes.Text(members["model"])
	} else if strings.Contains(name, "-20") && !strings.Contains(name, "@") {
		refuseGoogle(w, http.StatusNotFound, fmt.Sprintf("Publisher Model `projects/%s/locations/%s/publishers/anthropic/models/%s` was not found "+
			"or your project does not have access to it.", Project, r.PathValue("location"), name))
		return
	}
	members["model"] = text(strings.Replace(name, "@", "-", 1))
	header := asAnthropic(r.Header.Values("Anthropic-Beta")...)
	if method == "streamRawPredict" {
		members["stream"] = jsontext.Value("true")
	}
	g.ask(w, r, path, rawjson.Encode(members), header)
}

// refuseClaude is a refusal of the model, which Vertex passes on.
func refuseClaude(w http.ResponseWriter, message string) {
	wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"type", "error", "error", rawjson.Object{"type", "invalid_request_error", "message", message}})
}

// gemini is Gemini, and the older models for embeddings.
func (g *Google) gemini(w http.ResponseWriter, r *http.Request) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method != "predict" {
		g.ask(w, r, "/v1beta/models/"+name+":"+method, readBody(r), http.Header{"X-Goog-Api-Key": {"simulated"}, "Content-Type": {"application/json"}})
		return
	}
	members, ok := readObject(r)
	size := 768
	if n, given := jsonbytes.Integer(jsonbytes.Member(members["parameters"], "outputDimensionality")); given {
		size = int(n)
	}
	var all []rawjson.Object
	for one := range jsonbytes.Elements(members["instances"]) {
		content := jsonbytes.Text(jsonbytes.Member(one, "content"))
		all = append(all, rawjson.Object{"embeddings", rawjson.Object{
			"values", reply.Vector(content, size), "statistics", rawjson.Object{"token_count", reply.CountTokens(content), "truncated", false},
		}})
	}
	if !ok || all == nil || !strings.HasPrefix(name, "text-") {
		refuseGoogle(w, http.StatusBadRequest, "Request contains an invalid argument.")
		return
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"predictions", all})
}

// open is the API of OpenAI's form, for the models of other publishers.
func (g *Google) open(w http.ResponseWriter, r *http.Request) {
	members, _ := readObject(r)
	if name := jsonbytes.Text(members["model"]); !strings.Contains(name, "/") {
		refuseGoogle(w, http.StatusBadRequest, "The model must be written as publisher/model, not as "+name+".")
		return
	}
	g.askOpenAI(w, r, "/v1/chat/completions", "gpt-4.1")
}
