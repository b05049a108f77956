package native

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const (
	openAIModel = "gpt-5.5"
	responseID  = "resp_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182"

	response = `{"id":"` + responseID + `","object":"response","created_at":1780000000,"status":"completed","model":"` + openAIModel + `",` +
		`"service_tier":"default",` +
		`"output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"fine"}]}],` +
		`"usage":` + responseUsage + `}`
	responseUsage = `{"input_tokens":30,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,` +
		`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":50}`
)

// handle is the end of the ids that clients get.
var handle = regexp.MustCompile(`_mgw[\w-]{38}\b`)

// asSent is an answer as its upstream has sent it. All ids in it must be the client's own.
func asSent(t *testing.T, body string) string {
	t.Helper()
	sent := handle.ReplaceAllString(body, "")
	if ids, own := strings.Count(sent, "resp_"), len(handle.FindAllString(body, -1)); ids != own {
		t.Errorf("%d of %d ids are the client's own: %.500s", own, ids, body)
	}
	return sent
}

// began, wrote and whole are the events of a stream of the Responses API.
func began() string {
	return event("response.created", `,"response":`+strings.Replace(response, `"completed"`, `"in_progress"`, 1)+`,"sequence_number":0`)
}

func wrote(text string) string {
	return event("response.output_text.delta", `,"item_id":"msg_1","delta":"`+text+`","sequence_number":1`)
}

func whole() string {
	return event("response.completed", `,"response":`+response+`,"sequence_number":2`)
}

// openAI starts a gateway for a scripted OpenAI.
func openAI(t *testing.T, settings ...string) (*gatewaytest.Program, *providertest.Upstream) {
	t.Helper()
	u := providertest.Serve(t)
	own := []string{"OPENAI_API_KEY=sk-oai-a", "OPENAI_BASE_URL=" + u.URL, "MAX_RETRIES=0"}
	p := gatewaytest.Start(t, append(own, settings...)...)
	p.Client = gatewaytest.ParallelClient(t) // what the upstream's events are like is not the gateway's to judge
	return p, u
}

const (
	responsesPath = "/v1/responses"
	asked         = `{"model":"` + openAIModel + `","input":"hi"}`
	askedStream   = `{"model":"` + openAIModel + `","stream":true,"input":"hi"}`
)

// Case 9.
func TestClientAndOpenAISeeEachOthersBytes(t *testing.T) {
	t.Parallel()
	modelMember := regexp.MustCompile(`"model": ?"[^"]*"`) // the upstream is sent its own id
	p, u := openAI(t)
	files, err := filepath.Glob("../../dialects/responses/testdata/requests/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := modelMember.ReplaceAllString(string(text), `"model":"`+openAIModel+`"`)
		script, want := gatewaytest.JSON(200, response), response
		if regexp.MustCompile(`"stream": ?true`).MatchString(body) {
			want = began() + wrote("fine") + whole()
			script = gatewaytest.Events(providertest.Proper, want)
		}
		for name, value := range map[string]string{
			"X-Request-Id": "req_1", "Openai-Organization": "o", "X-Ratelimit-Limit-Requests": "7", "Set-Cookie": "a=b", "Retry-After": "9",
			"X-Codex-Turn-State": "s", "Openai-Model": "m", "X-Models-Etag": "e",
		} {
			script.Header.Set(name, value)
		}
		u.Play(script)
		got := post(t, p, responsesPath+"?include=a&x=y", body, "Originator", "codex", "Session_id", "s", "X-Codex-Turn-Metadata", "{}",
			"Openai-Beta", "b", "Authorization", "Bearer sk-client", "Cookie", "a=b", "Idempotency-Key", "1", "Openai-Project", "p",
			"Openai-Organization", "o", "X-Stainless-Lang", "js")
		sent := u.Requests()
		if got.Status != 200 || asSent(t, got.Body) != want || len(sent) != 1 {
			t.Errorf("%s: %d %s", file, got.Status, got.Body)
			continue
		}
		if got := modelMember.ReplaceAllString(string(sent[0].Body), ""); got != modelMember.ReplaceAllString(body, "") {
			t.Errorf("%s: %.500s", file, sent[0].Body)
		}
		h := sent[0].Header
		if sent[0].Path != responsesPath+"?include=a" || h.Get("Originator") != "codex" || h.Get("Session_id") != "s" ||
			h.Get("X-Codex-Turn-Metadata") != "{}" || h.Get("Openai-Beta") != "b" || h.Get("Authorization") != "Bearer sk-oai-a" {
			t.Errorf("%s: %s %v", file, sent[0].Path, h)
		}
		for _, name := range []string{"Cookie", "Idempotency-Key", "X-Stainless-Lang", "Openai-Project", "Openai-Organization"} {
			if h.Get(name) != "" {
				t.Errorf("%s: the upstream is sent %s", file, name)
			}
		}
		for name, value := range map[string]string{
			"X-Upstream-Request-Id": "req_1", "X-Codex-Turn-State": "s", "Openai-Model": "m", "X-Models-Etag": "e",
			"Openai-Organization": "", "X-Ratelimit-Limit-Requests": "", "Set-Cookie": "", "Retry-After": "",
		} {
			if got.Header.Get(name) != value {
				t.Errorf("%s: %s is %q, not %q", file, name, got.Header.Get(name), value)
			}
		}
	}
}

// Most recordings are of answers that were not kept: they come back as they are, and as if they
// had been kept with another id.
func TestRecordedResponsesComeBackThroughTheGateway(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	count, unkept := 0, 0
	notKept := regexp.MustCompile(`"store": ?false`)
	for _, dir := range []string{"../../providers/openai/testdata/responses", "../../providers/testdata/recordings/openai-responses"} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			come := func(body string) gatewaytest.Answer {
				request, script := asked, gatewaytest.JSON(200, body)
				if strings.HasSuffix(file, ".sse") {
					request, script = askedStream, gatewaytest.Events(providertest.Proper)
					script.Pieces = providertest.Events([]byte(body))
				}
				u.Play(script)
				return post(t, p, responsesPath, request)
			}
			body := string(text)
			if strings.Contains(body, `"error": {`) || strings.Contains(body, "event: error") {
				continue
			}
			if strings.Contains(body, `"previous_response_id": "resp_`) {
				continue // of a request that went on from it
			}
			if count++; notKept.MatchString(body) {
				unkept++
				if got := come(body); got.Status != 200 || got.Body != body {
					t.Errorf("%s: %d, %d bytes of %d", file, got.Status, len(got.Body), len(body))
				}
				body = notKept.ReplaceAllString(body, `"store":true`)
			}
			if got := come(body); got.Status != 200 || asSent(t, got.Body) != body {
				t.Errorf("%s, kept: %d, %d bytes of %d", file, got.Status, len(got.Body), len(body))
			}
		}
	}
	if count < 30 || unkept < 20 {
		t.Errorf("%d answers came back, %d that are not kept", count, unkept)
	}
}

// Case 33.
func TestAStreamOfOpenAIThatIsCutEndsInAnErrorEvent(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	for _, end := range []providertest.End{providertest.Proper, providertest.Reset} {
		u.Play(gatewaytest.Events(end, began(), wrote("a"), wrote("b")[:40]))
		got := post(t, p, responsesPath, askedStream)
		rest, ok := strings.CutPrefix(asSent(t, got.Body), began()+wrote("a")+"event: error\n")
		if !ok || !strings.HasPrefix(rest, `data: {"type":"error",`) || !strings.Contains(rest, `"sequence_number":2`) ||
			!strings.Contains(rest, "event: response.failed\n") || !strings.Contains(rest, `"id":"`+responseID) || strings.Contains(rest, "completed\"") {
			t.Errorf("%d: %v %q", got.Status, got.Err, got.Body)
		}
	}
}

func TestAnAnswerOfOpenAIThatFailsIsToldInItsWords(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	failed := event("response.failed", `,"response":`+strings.Replace(response, `"status":"completed"`,
		`"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow  down"}`, 1)+`,"sequence_number":3`)
	problem := event("error", `,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"slow  down"},"sequence_number":2`)
	for _, last := range []string{failed, problem + failed, problem} {
		u.Play(gatewaytest.Events(providertest.Proper, began(), wrote("a"), last))
		if got := post(t, p, responsesPath, askedStream); asSent(t, got.Body) != began()+wrote("a")+last {
			t.Errorf("%d: %q", got.Status, got.Body)
		}
	}
	gatewaytest.Until(t, "the calls have failed in the log", func() bool {
		return strings.Count(p.Log.String(), `"outcome":"refused"`)+strings.Count(p.Log.String(), `"outcome":"failed"`) == 3
	})
}

// Until the answer begins another candidate may answer, also where the upstream has said that
// it made a response.
func TestAResponseFailsOverBeforeItsAnswerBegins(t *testing.T) {
	t.Parallel()
	other := providertest.Serve(t)
	p, u := openAI(t, "ANTHROPIC_API_KEY=sk-ant-a", "ANTHROPIC_BASE_URL="+other.URL, "FALLBACKS="+openAIModel+"="+model)
	failed := event("response.failed", `,"response":`+strings.Replace(response, `"status":"completed"`,
		`"status":"failed","error":{"code":"server_error","message":"broken"}`, 1))
	for _, script := range []providertest.Script{
		gatewaytest.Events(providertest.Proper, began(), failed), gatewaytest.JSON(503, `{"error":{"message":"Overloaded","type":"server_error"}}`),
	} {
		u.Play(script)
		other.Play(gatewaytest.Events(providertest.Proper, started(`{"input_tokens":3,"output_tokens":1}`), said("fine"),
			event("content_block_stop", `,"index":0`), ended()))
		got := post(t, p, responsesPath, askedStream, "Originator", "codex")
		if got.Status != 200 || !strings.Contains(got.Body, `"text":"fine"`) || !strings.Contains(got.Body, "event: response.completed\n") ||
			got.Header.Get("X-Gateway-Fallback") != model {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
		if sent := other.Requests(); len(sent) != 1 || sent[0].Header.Get("Originator") != "" {
			t.Errorf("%+v", sent)
		}
	}
}

// Case 11: Codex shortens the conversation only where it finds the error in a stream.
func TestAnOverflowOfOpenAIIsToldInsideAStream(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	const problem = `{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model.","param":"input"}`
	failed := event("response.failed", `,"response":`+strings.Replace(response, `"status":"completed"`, `"status":"failed","error":`+problem, 1))
	for _, script := range []providertest.Script{
		gatewaytest.JSON(400, `{"error":`+problem+`}`),
		gatewaytest.Events(providertest.Proper, began(), event("error", `,"error":`+problem), failed),
	} {
		u.Play(script)
		got := post(t, p, responsesPath, askedStream)
		if got.Status != 200 || !strings.Contains(got.Body, "event: response.failed\n") ||
			!strings.Contains(got.Body, `"error":{"code":"context_length_exceeded","message":"Your input exceeds`) {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		u.Play(gatewaytest.JSON(400, `{"error":`+problem+`}`))
		if got := post(t, p, responsesPath, asked); got.Status != 400 || got.Body != `{"error":`+problem+`}` {
			t.Errorf("whole: %d %s", got.Status, got.Body)
		}
	}
}

func TestErrorsOfOpenAIReachItsClients(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	for _, status := range []int{400, 409, 422, 429, 500, 503, 401, 403} {
		passes := status != 401 && status != 403
		const body = `{"error":{"message":"in  its   own words","type":"t","param":null,"code":"c"},"new":1}`
		u.Play(gatewaytest.JSON(status, body))
		for _, request := range []string{asked, askedStream} {
			got := post(t, p, responsesPath, request)
			passed := got.Status == status && got.Body == body
			if passed != passes || strings.Contains(got.Body, "own words") != passes {
				t.Errorf("%d: %d %s", status, got.Status, got.Body)
			}
		}
	}
}

func TestAConversationGoesOnFromItsResponse(t *testing.T) {
	t.Parallel()
	p, u := openAI(t, "OPENAI_API_KEY=sk-oai-a,sk-oai-b,sk-oai-c")
	u.Play(gatewaytest.JSON(200, response))
	first := post(t, p, responsesPath, asked)
	by := u.Requests()[0].Header.Get("Authorization")
	id := regexp.MustCompile(`resp_[\w-]+`).FindString(first.Body)
	second := strings.ReplaceAll(strings.Replace(response, `"status"`, `"previous_response_id":"`+responseID+`","status"`, 1),
		`"id":"`+responseID, `"id":"resp_second0123456789`)
	u.Play(gatewaytest.JSON(200, second))
	request := `{"model":"` + openAIModel + `","previous_response_id":"` + id + `","input":"go on"}`
	got := post(t, p, responsesPath, request)
	sent := u.Requests()
	if len(sent) != 1 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got.Status != 200 || asSent(t, got.Body) != second || !strings.Contains(got.Body, `"previous_response_id":"`+id+`"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if !strings.Contains(string(sent[0].Body), `"previous_response_id":"`+responseID+`"`) || sent[0].Header.Get("Authorization") != by {
		t.Errorf("%s %v", sent[0].Body, sent[0].Header)
	}
	for _, other := range []string{responseID, id + "x", "resp_1"} {
		got := post(t, p, responsesPath, strings.Replace(request, id, other, 1))
		if e := got.APIError(t); got.Status != 400 || e.Code != "previous_response_not_found" || *e.Param != "previous_response_id" {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
}

// Native calls are metered as translated ones are, those for a shorter conversation too.
func TestNativeResponsesAreMetered(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	compacted := `{"id":"` + responseID + `","object":"response.compaction","created_at":1780000000,"output":[{"id":"cmp_1","type":"compaction",` +
		`"encrypted_content":"gAAAA"}],"usage":` + responseUsage + `}`
	for _, tt := range []struct {
		path, request, answer string
		script                providertest.Script
	}{
		{responsesPath, asked, response, gatewaytest.JSON(200, response)},
		{responsesPath, askedStream, began() + whole(), gatewaytest.Events(providertest.Proper, began(), whole())},
		{responsesPath + "/compact", asked, compacted, gatewaytest.JSON(200, compacted)},
	} {
		u.Play(tt.script)
		got := post(t, p, tt.path, tt.request)
		if sent := u.Requests(); got.Status != 200 || asSent(t, got.Body) != tt.answer || sent[len(sent)-1].Path != tt.path {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	gatewaytest.Until(t, "all calls are in the log", func() bool {
		return strings.Count(p.Log.String(), `"input_tokens":30,"output_tokens":20`) == 3
	})
}

// Of a call that is paid from a budget everything that costs is known beforehand.
func TestPaidResponsesCostWhatIsReserved(t *testing.T) {
	t.Parallel()
	models := filepath.Join(t.TempDir(), "models.yaml")
	const known = "models:\n  - {id: " + openAIModel + ", provider: openai, price: {input: 1, output: 10, multipliers: {tier.priority: 2, tier.flex: 0.5}, fees: {web_search_request: 0.01}}}\n"
	if err := os.WriteFile(models, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	p, u := openAI(t, "MAX_BUDGET_USD=100", "MODELS_FILE="+models)
	for members, param := range map[string]string{
		`"service_tier":"fast"`: "service_tier", `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`: "tools[0].type",
		`"tools":[{"type":"file_search","vector_store_ids":["v"]}]`: "tools[0].vector_store_ids", `"tools":[{"type":"new_tool","model":"o3-pro"}]`: "tools[].model",
		`"tools":[{"type":"image_generation"}]`: "tools[0].type",
	} {
		got := post(t, p, responsesPath, strings.Replace(asked, `"input"`, members+`,"input"`, 1))
		if e := got.APIError(t); got.Status != 400 || e.Param == nil || *e.Param != param {
			t.Errorf("%s: %d %s", members, got.Status, got.Body)
		}
	}
	if sent := u.Requests(); len(sent) > 0 {
		t.Errorf("%d calls were made", len(sent))
	}
	searched := strings.Replace(response, `"output":[`, `"output":[{"type":"web_search_call","action":{"type":"search"}},`, 1)
	for _, tt := range []struct{ members, answer, cost string }{
		{`"user":"u"`, response, "230"}, // 30 × 1 + 20 × 10
		{`"service_tier":"priority"`, strings.Replace(response, `"default"`, `"priority"`, 1), "460"},
		{`"service_tier":"flex"`, strings.Replace(response, `"default"`, `"flex"`, 1), "115"},
		{`"tools":[{"type":"web_search"}]`, searched, "10230"},
	} {
		u.Play(gatewaytest.JSON(200, tt.answer))
		got := post(t, p, responsesPath, strings.Replace(asked, `"input"`, tt.members+`,"input"`, 1))
		if got.Status != 200 || asSent(t, got.Body) != tt.answer {
			t.Errorf("%s: %d %s", tt.members, got.Status, got.Body)
		}
		gatewaytest.Until(t, tt.members+" costs "+tt.cost, func() bool {
			return strings.Contains(p.Log.String(), `"cost_micro_usd":`+tt.cost+`,`) || strings.Contains(p.Log.String(), `"cost_micro_usd":`+tt.cost+`}`)
		})
	}
}
