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
