package cloudtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/providers/simulator/strict"
)

func models() http.Handler {
	return simulator.New(simulator.Options{Now: simulatortest.Time, Check: strict.Check})
}

const (
	claudeID   = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	claudeBody = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`
	novaBody   = `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
)

// call is a signed request, before it is spoilt.
type call struct {
	path, body, service, region string
	signer                      func(*v4.SignerOptions)
	keys                        aws.Credentials
	at                          time.Time
	after                       func(r *http.Request) // what happens between signature and call
}

func (c call) send(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	method := http.MethodPost
	if c.body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(c.body))
	if c.keys.AccessKeyID != "" {
		err := v4.NewSigner().SignHTTP(t.Context(), c.keys, r, hex.EncodeToString(sum[:]), c.service, c.region, c.at, c.signer)
		if err != nil {
			t.Fatal(err)
		}
	}
	if c.after != nil {
		c.after(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header, string(text)
}

func proper() call {
	return call{
		path: "/model/" + url.QueryEscape(claudeID) + "/invoke", body: claudeBody, service: "bedrock", region: Region,
		keys: aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey}, at: time.Now(), signer: func(*v4.SignerOptions) {},
	}
}

func TestAmazonRefusesWhatIsNotSignedProperly(t *testing.T) {
	t.Parallel()
	a := NewAWS(t, models())
	id, g := a.issueKey(map[string]string{"user": "ada"})
	session := aws.Credentials{AccessKeyID: id, SecretAccessKey: g.secret, SessionToken: g.session}
	a.SetLifetime(-time.Second)
	oldID, old := a.issueKey(nil)
	for name, test := range map[string]struct {
		spoil  func(c *call)
		status int
		kind   string
	}{
		"proper":          {func(*call) {}, 200, ""},
		"session":         {func(c *call) { c.keys = session }, 200, ""},
		"clock a bit off": {func(c *call) { c.at = c.at.Add(-4 * time.Minute) }, 200, ""},
		"an ARN":          {func(c *call) { c.path = "/model/" + url.QueryEscape(ClaudeProfile) + "/invoke" }, 200, ""},
		"key": {func(c *call) {
			c.keys = aws.Credentials{}
			c.after = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+BedrockKey) }
		}, 200, ""},
		"wrong key": {func(c *call) {
			c.keys = aws.Credentials{}
			c.after = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+BedrockKey+"=") }
		}, 403, "AccessDeniedException"},
		"nothing": {func(c *call) { c.keys = aws.Credentials{} }, 403, "MissingAuthenticationTokenException"},
		"half a header": {func(c *call) {
			c.after = func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/b") }
		}, 403, "IncompleteSignatureException"},
		"unknown id":    {func(c *call) { c.keys.AccessKeyID = "AKIAOTHER" }, 403, "UnrecognizedClientException"},
		"no session":    {func(c *call) { c.keys = session; c.keys.SessionToken = "" }, 403, "UnrecognizedClientException"},
		"other session": {func(c *call) { c.keys = session; c.keys.SessionToken += "x" }, 403, "UnrecognizedClientException"},
		"expired": {func(c *call) {
			c.keys = aws.Credentials{AccessKeyID: oldID, SecretAccessKey: old.secret, SessionToken: old.session}
		}, 403, "ExpiredTokenException"},
		"wrong secret":  {func(c *call) { c.keys.SecretAccessKey += "x" }, 403, "InvalidSignatureException"},
		"clock behind":  {func(c *call) { c.at = c.at.Add(-6 * time.Minute) }, 403, "InvalidSignatureException"},
		"clock ahead":   {func(c *call) { c.at = c.at.Add(6 * time.Minute) }, 403, "InvalidSignatureException"},
		"other region":  {func(c *call) { c.region = "us-west-2" }, 403, "InvalidSignatureException"},
		"other service": {func(c *call) { c.service = "bedrock-runtime" }, 403, "InvalidSignatureException"},
		"encoded once":  {func(c *call) { c.signer = func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true } }, 403, "InvalidSignatureException"},
		"other body": {func(c *call) {
			c.after = func(r *http.Request) {
				r.Body = io.NopCloser(strings.NewReader(novaBody))
				r.ContentLength = int64(len(novaBody))
			}
		}, 403, "InvalidSignatureException"},
		"other path": {func(c *call) {
			c.after = func(r *http.Request) { r.URL.Path += "-with-response-stream"; r.URL.RawPath += "-with-response-stream" }
		}, 403, "InvalidSignatureException"},
		"header not in": {func(c *call) { c.after = func(r *http.Request) { r.Header.Set("X-Amz-Extra", "1") } }, 403, "InvalidSignatureException"},
		"other date":    {func(c *call) { c.after = func(r *http.Request) { r.Header.Set("X-Amz-Date", "today") } }, 403, "InvalidSignatureException"},
		"no such path":  {func(c *call) { c.path = "/model/" + url.QueryEscape(claudeID) + "/predict" }, 404, "UnknownOperationException"},
		"mantle, proper": {func(c *call) {
			c.path, c.service, c.body = "/v1/chat/completions", "bedrock-mantle", `{"model":"openai.gpt-oss-120b","messages":[{"role":"user","content":"hi"}]}`
		}, 200, ""},
		"mantle, other": {func(c *call) {
			c.path, c.body = "/v1/chat/completions", `{"model":"openai.gpt-oss-120b","messages":[]}`
		}, 403, "InvalidSignatureException"},
	} {
		c := proper()
		test.spoil(&c)
		status, header, body := c.send(t, a.URL)
		if status != test.status || header.Get("X-Amzn-Errortype") != test.kind || status != 200 && !strings.HasPrefix(body, `{"message":"`) {
			t.Errorf("%s: %d %s %s", name, status, header.Get("X-Amzn-Errortype"), body)
		}
		for _, secret := range []string{SecretAccessKey, g.secret, BedrockKey} {
			if strings.Contains(body, secret) {
				t.Errorf("%s: a secret is in %s", name, body)
			}
		}
	}
	whose := map[string]int{}
	for _, c := range a.Calls() {
		whose[c.Credential+c.Session["user"]]++
	}
	if whose[AccessKeyID] != 4 || whose[id+"ada"] != 1 || whose["bearer"] != 1 {
		t.Errorf("whose calls they are: %v", whose)
	}
}

func TestClaudeOnBedrockRefusesWhatAnthropicTakes(t *testing.T) {
	t.Parallel()
	a := NewAWS(t, models())
	body := func(more string) string { return strings.TrimSuffix(claudeBody, "}") + more + "}" }
	for name, test := range map[string]struct{ id, body, message string }{
		"model":       {claudeID, body(`,"model":"a"`), "model: Extra inputs are not permitted"},
		"stream":      {claudeID, body(`,"stream":false`), "stream: Extra inputs are not permitted"},
		"tier":        {claudeID, body(`,"service_tier":"auto"`), "service_tier: Extra inputs are not permitted"},
		"version":     {claudeID, strings.Replace(claudeBody, "bedrock-2023", "2023", 1), "anthropic_version: "},
		"beta":        {claudeID, body(`,"anthropic_beta":["context-1m-2025-08-07","oauth-2025-04-20"]`), "invalid beta flag"},
		"search":      {claudeID, body(`,"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "tools.0: Input tag 'web_search_20250305'"},
		"no profile":  {"anthropic.claude-sonnet-4-5-20250929-v1:0", claudeBody, "on-demand throughput"},
		"unknown":     {"us.anthropic.claude-9-v1:0", claudeBody, "model: claude-9"},
		"no object":   {claudeID, "[]", "Malformed input request"},
		"not a model": {"amazon.other", claudeBody, "The provided model identifier is invalid."},
	} {
		c := proper()
		c.path, c.body = "/model/"+url.QueryEscape(test.id)+"/invoke", test.body
		if status, header, text := c.send(t, a.URL); status/100 != 4 || header.Get("X-Amzn-Errortype") == "" || !strings.Contains(text, test.message) &&
			!strings.Contains(text, "required keys are missing") {
			t.Errorf("%s: %d %v %s", name, status, header, text)
		}
	}
	c := proper()
	c.body = body(`,"anthropic_beta":["context-1m-2025-08-07"]`)
	if status, _, text := c.send(t, a.URL); status != 200 {
		t.Errorf("a beta that it has: %d %s", status, text)
	}
}

// The official client of Anthropic takes the stand-in for Bedrock.
func TestAnthropicsClientTalksToTheStandIn(t *testing.T) {
	t.Parallel()
	a := NewAWS(t, models())
	for name, cfg := range map[string]aws.Config{
		"keys": {Region: Region, Credentials: credentials.NewStaticCredentialsProvider(AccessKeyID, SecretAccessKey, "")},
		"key":  {Region: Region, BearerAuthTokenProvider: bedrock.NewStaticBearerTokenProvider(BedrockKey)},
	} {
		client := anthropic.NewClient(bedrock.WithConfig(cfg), option.WithBaseURL(a.URL))
		for _, id := range []string{claudeID, ClaudeProfile} {
			ask := anthropic.MessageNewParams{
				Model: id, MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello there"))},
			}
			m, err := client.Messages.New(t.Context(), ask)
			if err != nil || !strings.Contains(m.Content[0].Text, "Hello there") || m.Usage.OutputTokens == 0 {
				t.Errorf("%s, %s: %v %+v", name, id, err, m)
			}
			stream, whole := client.Messages.NewStreaming(t.Context(), ask), anthropic.Message{}
			for stream.Next() {
				if err := whole.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if stream.Err() != nil || whole.Content[0].Text != m.Content[0].Text || whole.Usage.OutputTokens != m.Usage.OutputTokens || whole.StopReason != "end_turn" {
				t.Errorf("%s, %s: %v %+v", name, id, stream.Err(), whole)
			}
		}
		if _, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
			Model: anthropic.Model(claudeID), MaxTokens: 99,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("simulate error 400"))},
		}); err == nil || !strings.Contains(err.Error(), "400") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// events are the frames of a stream: their types, and what is in them.
func events(t *testing.T, body string) (names []string, payloads string) {
	t.Helper()
	for r := bytes.NewReader([]byte(body)); r.Len() > 0; {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		kind := m.Headers.Get(":event-type")
		if kind == nil {
			kind = m.Headers.Get(":exception-type")
		}
		names, payloads = append(names, kind.String()), payloads+string(m.Payload)
	}
	return names, payloads
}

func TestConverseOfTheStandIn(t *testing.T) {
	t.Parallel()
	a := NewAWS(t, models())
	const tools = `,"toolConfig":{"tools":[{"toolSpec":{"name":"weather","inputSchema":{"json":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}}]}`
	ask := func(path, body string) (int, string) {
		c := proper()
		c.path, c.body = "/model/amazon.nova-pro-v1%3A0/"+path, body
		status, _, text := c.send(t, a.URL)
		return status, text
	}
	with := func(content, more string) string {
		return `{"messages":[{"role":"user","content":[{"text":"weather in Paris?"}]}` + content + `]` + more + `}`
	}
	const use = `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"weather","input":{"city":"Paris"}}}]}`
	const result = `,{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"sunny"}]}}]}`
	for name, test := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"text":           {with("", ""), 200, `"stopReason":"end_turn","usage":{"inputTokens":`},
		"tool":           {with("", tools), 200, `"stopReason":"tool_use"`},
		"tool's result":  {with(use+result, tools), 200, `The tool weather returned: \"sunny\"`},
		"no result":      {with(use+`,{"role":"user","content":[{"text":"and?"}]}`, tools), 400, "Expected toolResult blocks at messages.2.content"},
		"no tools":       {with(use+result, ""), 400, "The toolConfig field must be defined"},
		"blank":          {`{"messages":[{"role":"user","content":[{"text":" "}]}]}`, 400, "is blank"},
		"roles":          {with(`,{"role":"user","content":[{"text":"a"}]}`, ""), 400, "alternate between user and assistant"},
		"nothing":        {`{"messages":[]}`, 400, "must start with a user message"},
		"wrong member":   {with("", `,"max_tokens":5`), 400, "max_tokens"},
		"limit":          {with("", `,"inferenceConfig":{"maxTokens":3}`), 200, `"stopReason":"max_tokens"`},
		"document":       {`{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a.pdf","source":{"bytes":"YQ=="}}},{"text":"hi"}]}]}`, 400, "document file name"},
		"tool's name":    {with("", strings.Replace(tools, `"weather"`, `"a.b"`, 1)), 400, "toolSpec.name"},
		"simulated":      {strings.Replace(novaBody, "hi", "simulate error 429", 1), 429, "ThrottlingException"},
		"embedding, not": {`{"inputText":"a"}`, 400, "inputText"},
	} {
		if status, text := ask("converse", test.body); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for name, test := range map[string]struct{ body, names, payloads string }{
		"text":      {with("", ""), "messageStart contentBlockDelta contentBlockStop messageStop metadata", `"stopReason":"end_turn"`},
		"tool":      {with("", tools), "messageStart contentBlockStart contentBlockDelta contentBlockStop messageStop metadata", `"stopReason":"tool_use"`},
		"midstream": {strings.Replace(novaBody, "hi", "simulate error midstream", 1), "messageStart contentBlockDelta modelStreamErrorException", "broke off"},
	} {
		_, text := ask("converse-stream", test.body)
		names, payloads := events(t, text)
		var distinct []string
		for _, n := range names {
			if len(distinct) == 0 || distinct[len(distinct)-1] != n {
				distinct = append(distinct, n)
			}
		}
		if strings.Join(distinct, " ") != test.names || !strings.Contains(payloads, test.payloads) {
			t.Errorf("%s: %v %s", name, distinct, payloads)
		}
	}
	body := base64.StdEncoding.EncodeToString([]byte(claudeBody))
	for name, test := range map[string]struct {
		id, body string
		status   int
		want     string
	}{
		"claude":     {"anthropic.claude-sonnet-4-5-20250929-v1:0", `{"input":{"invokeModel":{"body":"` + body + `"}}}`, 200, `{"inputTokens":1}`},
		"profile":    {claudeID, `{"input":{"invokeModel":{"body":"` + body + `"}}}`, 400, "doesn't support counting tokens"},
		"nova":       {"amazon.nova-pro-v1:0", `{"input":{"converse":` + novaBody + `}}`, 200, `{"inputTokens":1}`},
		"no base64":  {"anthropic.claude-sonnet-4-5-20250929-v1:0", `{"input":{"invokeModel":{"body":"{}"}}}`, 400, "Malformed"},
		"no message": {"anthropic.claude-sonnet-4-5-20250929-v1:0", `{"input":{"invokeModel":{"body":"e30="}}}`, 400, "max_tokens: Field required"},
	} {
		c := proper()
		c.path, c.body = "/model/"+url.QueryEscape(test.id)+"/count-tokens", test.body
		if status, _, text := c.send(t, a.URL); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("count, %s: %d %s", name, status, text)
		}
	}
}

func TestListsAndEmbeddingsOfAmazon(t *testing.T) {
	t.Parallel()
	a := NewAWS(t, models())
	for _, test := range []struct{ path, body, want string }{
		{"/foundation-models", "", `"modelId":"amazon.nova-pro-v1:0"`},
		{"/inference-profiles", "", `"inferenceProfileId":"` + claudeID + `"`},
		{"/model/cohere.embed-english-v3/invoke", `{"texts":["a b","c"],"input_type":"search_document"}`, `"response_type":"embeddings_floats"`},
		{"/model/cohere.embed-v4%3A0/invoke", `{"texts":["a b"],"input_type":"search_document","output_dimension":256}`, `"embeddings":{"float":[[`},
		{"/model/amazon.titan-embed-text-v2%3A0/invoke", `{"inputText":"a b"}`, `"inputTextTokenCount":2`},
		{"/model/cohere.embed-english-v3/invoke", `{"texts":["a"]}`, "required keys are missing"},
		{"/openai/v1/chat/completions", `{"model":"openai.gpt-oss-120b-1:0","messages":[{"role":"user","content":"hi"}]}`, `"usage":{"prompt_tokens":`},
	} {
		c := proper()
		c.path, c.body = test.path, test.body
		if status, _, text := c.send(t, a.URL); !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s", test.path, status, text)
		}
	}
}

// The official libraries get credentials from each of Amazon's services, and Bedrock takes
// them.
func TestAmazonsLibrariesLogInAtTheStandIn(t *testing.T) {
	a := NewAWS(t, models())
	file := t.TempDir() + "/token"
	if err := os.WriteFile(file, []byte(WebIdentity), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string][]string{
		"instance":     {"AWS_EC2_METADATA_SERVICE_ENDPOINT", a.URL},
		"container":    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", a.URL + ContainerPath, "AWS_CONTAINER_AUTHORIZATION_TOKEN", ContainerCredential, "AWS_EC2_METADATA_DISABLED", "true"},
		"web identity": {"AWS_WEB_IDENTITY_TOKEN_FILE", file, "AWS_ROLE_ARN", Role, "AWS_ROLE_SESSION_NAME", "s", "AWS_ENDPOINT_URL_STS", a.URL},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(settings); i += 2 {
				t.Setenv(settings[i], settings[i+1])
			}
			t.Setenv("AWS_CONFIG_FILE", file)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
			cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(Region))
			if err != nil {
				t.Fatal(err)
			}
			before := a.LogIns()
			c := proper()
			if c.keys, err = cfg.Credentials.Retrieve(t.Context()); err != nil {
				t.Fatal(err)
			}
			if status, _, text := c.send(t, a.URL); status != 200 || a.LogIns() != before+1 {
				t.Errorf("%d %s, %d log-ins", status, text, a.LogIns()-before)
			}
		})
	}
	t.Run("no token", func(t *testing.T) {
		for _, path := range []string{metadataPath, metadataPath + metadataRole} {
			resp, err := http.Get(a.URL + path)
			if err != nil || resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s without a token: %v %v", path, resp, err)
			}
		}
	})
}

func TestLogInsFailAsTheyAreTold(t *testing.T) {
	t.Parallel()
	a := NewAzure(t, models())
	ask := func(ctx context.Context, secret string) (int, string, time.Duration) {
		began := time.Now()
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {ClientID}, "client_secret": {secret}, "scope": {cognitive + "/.default"}}
		r := httptest.NewRequest(http.MethodPost, a.URL+"/"+Tenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode())).WithContext(ctx)
		r.RequestURI = ""
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error(), time.Since(began)
		}
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), time.Since(began)
	}
	arrived, cancel := context.WithCancel(t.Context()) // ends when the fourth log-in has come
	go func() {
		defer cancel()
		for a.LogIns() < 4 && t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for _, test := range []struct {
		fault  Fault
		ctx    context.Context
		secret string
		status int
		least  time.Duration
	}{
		{Works, t.Context(), ClientSecret, 200, 0}, {Works, t.Context(), "wrong", 401, 0}, {Refuses, t.Context(), ClientSecret, 401, 0},
		{Freezes, arrived, ClientSecret, 0, 0}, {Slow, t.Context(), ClientSecret, 200, SlowFor}, {Works, t.Context(), ClientSecret, 200, 0},
	} {
		a.Fail(test.fault)
		if status, text, took := ask(test.ctx, test.secret); status != test.status || took < test.least {
			t.Errorf("%d: %d %s after %s", test.fault, status, text, took)
		}
	}
	if a.LogIns() != 6 {
		t.Errorf("%d log-ins", a.LogIns())
	}
}
