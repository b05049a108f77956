package cloudtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/google"
)

const vertexBody = `{"anthropic_version":"vertex-2023-10-16","max_tokens":99,"messages":[{"role":"user","content":"Hello there"}]}`

func vertexPath(publisher, call string) string {
	return "/v1/projects/" + Project + "/locations/global/publishers/" + publisher + "/models/" + call
}

// post sends a body with headers, names and values in turn.
func post(t *testing.T, client *http.Client, url, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, string(text)
}

// googleClient is one with credentials of a file, by Google's own library.
func googleClient(t *testing.T, file string, kind google.CredentialsType, scope string) (*http.Client, oauth2.TokenSource) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := google.CredentialsFromJSONWithType(t.Context(), text, kind, scope)
	if err != nil {
		t.Fatal(err)
	}
	return oauth2.NewClient(t.Context(), c.TokenSource), c.TokenSource
}

func TestGooglesLibrariesLogInAtTheStandIn(t *testing.T) {
	g := NewGoogle(t, models())
	own, _ := googleClient(t, g.ServiceAccount(t), google.ServiceAccount, cloudScope)
	user, _ := googleClient(t, g.User(t), google.AuthorizedUser, cloudScope)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(g.URL, "http://"))
	instance := oauth2.NewClient(t.Context(), google.ComputeTokenSource("", cloudScope))
	for name, client := range map[string]*http.Client{"service account": own, "user": user, "instance": instance} {
		before := g.LogIns()
		for _, test := range []struct{ path, body, want string }{
			{vertexPath("anthropic", "claude-sonnet-4-5@20250929:rawPredict"), vertexBody, `"text":"This is a simulated answer`},
			{vertexPath("anthropic", "claude-sonnet-4-5@20250929:streamRawPredict"), strings.Replace(vertexBody, `{"a`, `{"stream":true,"a`, 1), "event: message_stop"},
			{vertexPath("anthropic", "count-tokens:rawPredict"), strings.Replace(vertexBody, `"max_tokens":99`, `"model":"claude-sonnet-4-5@20250929"`, 1), `{"input_tokens":2}`},
			{vertexPath("google", "gemini-2.5-flash:generateContent"), `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"candidatesTokenCount":`},
			{vertexPath("google", "gemini-2.5-flash:streamGenerateContent?alt=sse"), `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, "data: {"},
			{vertexPath("google", "gemini-2.5-flash:countTokens"), `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"totalTokens":`},
			{vertexPath("google", "text-embedding-005:predict"), `{"instances":[{"content":"a b"}],"parameters":{"outputDimensionality":2}}`, `"token_count":2`},
			{"/v1/projects/" + Project + "/locations/global/endpoints/openapi/chat/completions", `{"model":"meta/llama-3.3-70b-instruct-maas","messages":[{"role":"user","content":"hi"}]}`, `"finish_reason":"stop"`},
		} {
			if status, text := post(t, client, g.URL+test.path, test.body); status != 200 || !strings.Contains(text, test.want) {
				t.Errorf("%s, %s: %d %s", name, test.path, status, text)
			}
		}
		if g.LogIns() != before+1 {
			t.Errorf("%s: %d log-ins", name, g.LogIns()-before)
		}
	}
}

func TestGoogleRefuses(t *testing.T) {
	t.Parallel()
	g := NewGoogle(t, models())
	file := g.ServiceAccount(t)
	own, _ := googleClient(t, file, google.ServiceAccount, cloudScope)
	_, source := googleClient(t, file, google.ServiceAccount, cloudScope)
	g.SetLifetime(-time.Minute)
	expired, _ := source.Token()
	g.SetLifetime(time.Hour)
	gemini := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	for name, test := range map[string]struct {
		client     *http.Client
		path, body string
		header     []string
		status     int
		want       string
	}{
		"no token":      {http.DefaultClient, vertexPath("google", "gemini-2.5-flash:generateContent"), gemini, nil, 401, `"status":"UNAUTHENTICATED"`},
		"old token":     {http.DefaultClient, vertexPath("google", "gemini-2.5-flash:generateContent"), gemini, []string{"Authorization", "Bearer " + expired.AccessToken}, 401, `"status":"UNAUTHENTICATED"`},
		"key":           {http.DefaultClient, "/v1/publishers/google/models/gemini-2.5-flash:generateContent", gemini, []string{"X-Goog-Api-Key", APIKey}, 200, "candidates"},
		"wrong key":     {http.DefaultClient, "/v1/publishers/google/models/gemini-2.5-flash:generateContent", gemini, []string{"X-Goog-Api-Key", "a"}, 400, "API key not valid"},
		"key, Claude":   {http.DefaultClient, vertexPath("anthropic", "claude-sonnet-4-5@20250929:rawPredict"), vertexBody, []string{"X-Goog-Api-Key", APIKey}, 401, "API keys are not supported"},
		"other project": {own, strings.Replace(vertexPath("google", "gemini-2.5-flash:generateContent"), Project, "other", 1), gemini, nil, 403, "PERMISSION_DENIED"},
		"no @":          {own, vertexPath("anthropic", "claude-sonnet-4-5-20250929:rawPredict"), vertexBody, nil, 404, "was not found or your project"},
		"version":       {own, vertexPath("anthropic", "claude-sonnet-4-5@20250929:rawPredict"), claudeBody, nil, 400, "anthropic_version"},
		"model":         {own, vertexPath("anthropic", "claude-sonnet-4-5@20250929:rawPredict"), strings.Replace(vertexBody, "{", `{"model":"a",`, 1), nil, 400, "model: Extra inputs"},
		"no publisher":  {own, "/v1/projects/" + Project + "/locations/global/endpoints/openapi/chat/completions", `{"model":"llama"}`, nil, 400, "publisher/model"},
		"no such path":  {own, "/v1/models", "{}", nil, 404, `"status":"NOT_FOUND"`},
	} {
		if status, text := post(t, test.client, g.URL+test.path, test.body, test.header...); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for name, source := range map[string]func() oauth2.TokenSource{
		"other scope": func() oauth2.TokenSource { _, s := googleClient(t, file, google.ServiceAccount, "a"); return s },
		"other key": func() oauth2.TokenSource {
			_, s := googleClient(t, NewGoogle(t, models()).forged(t, g.URL), google.ServiceAccount, cloudScope)
			return s
		},
	} {
		if token, err := source().Token(); err == nil {
			t.Errorf("%s: %v", name, token)
		}
	}
	if resp, err := http.Get(g.URL + "/computeMetadata/v1/instance/service-accounts/default/token"); err != nil || resp.StatusCode != 403 {
		t.Errorf("metadata without the header: %v %v", err, resp)
	}
}

// forged is the service account's file with another key.
func (g *Google) forged(t *testing.T, url string) string {
	t.Helper()
	g.URL = url
	return g.ServiceAccount(t)
}

func TestMicrosoftTakesAndRefuses(t *testing.T) {
	t.Parallel()
	a := NewAzure(t, models())
	token := func(scope string, more url.Values) string {
		c := clientcredentials.Config{ClientID: ClientID, ClientSecret: ClientSecret, TokenURL: a.URL + "/" + Tenant + "/oauth2/v2.0/token", Scopes: []string{scope}, EndpointParams: more}
		if more != nil {
			c.ClientSecret = ""
		}
		got, err := c.Token(context.WithValue(t.Context(), oauth2.HTTPClient, http.DefaultClient))
		if err != nil {
			return fmt.Sprint(err)
		}
		return "Bearer " + got.AccessToken
	}
	federated := url.Values{"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {Assertion}}
	own, other := token(cognitive+"/.default", nil), token(foundry+"/.default", federated)
	a.SetLifetime(-time.Second)
	old := token(cognitive+"/.default", nil)
	chat := `{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]}`
	claude := `{"model":"claude-sonnet-4-5-20250929","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`
	for name, test := range map[string]struct {
		path, body string
		header     []string
		status     int
	}{
		"token":               {"/openai/v1/chat/completions", chat, []string{"Authorization", own}, 200},
		"responses":           {"/openai/v1/responses", `{"model":"gpt-4.1","input":"hi"}`, []string{"Authorization", own}, 200},
		"embeddings":          {"/openai/v1/embeddings", `{"model":"text-embedding-3-small","input":"hi"}`, []string{"Api-Key", ResourceKey}, 200},
		"foundry's token":     {"/openai/v1/chat/completions", chat, []string{"Authorization", other}, 200},
		"wrong key":           {"/openai/v1/chat/completions", chat, []string{"Api-Key", "a"}, 401},
		"nothing":             {"/openai/v1/chat/completions", chat, nil, 401},
		"old token":           {"/openai/v1/chat/completions", chat, []string{"Authorization", old}, 401},
		"claude":              {"/anthropic/v1/messages", claude, []string{"Authorization", other, "Anthropic-Version", "2023-06-01"}, 200},
		"claude, key":         {"/anthropic/v1/messages/count_tokens", strings.Replace(claude, `"max_tokens":99,`, "", 1), []string{"X-Api-Key", ResourceKey, "Anthropic-Version", "2023-06-01"}, 200},
		"claude, no version":  {"/anthropic/v1/messages", claude, []string{"Authorization", other}, 400},
		"claude, other token": {"/anthropic/v1/messages", claude, []string{"Authorization", own, "Anthropic-Version", "2023-06-01"}, 401},
		"no such path":        {"/openai/deployments/a/chat/completions", chat, []string{"Api-Key", ResourceKey}, 404},
	} {
		if status, text := post(t, http.DefaultClient, a.URL+test.path, test.body, test.header...); status != test.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for want, got := range map[string]string{
		"AADSTS70011": token("https://graph.microsoft.com/.default", nil), "AADSTS7000215": token(cognitive+"/.default", url.Values{"a": {"b"}}),
	} {
		if !strings.Contains(got, want) || strings.Contains(got, ClientSecret) {
			t.Errorf("%s: %s", want, got)
		}
	}
	for header, status := range map[string]int{"true": 200, "": 400} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/metadata/identity/oauth2/token?api-version=2018-02-01&resource="+url.QueryEscape(cognitive), http.NoBody)
		r.Header.Set("Metadata", header)
		if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != status {
			t.Errorf("metadata %q: %v %v", header, err, resp)
		}
	}
}
