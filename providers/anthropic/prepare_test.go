package anthropic

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// The models of the tests, named after what is special about them.
const (
	noThinking = "claude-3-haiku-20240307"    // takes everything but thinking and schemas, 4096 tokens
	budgetOld  = "claude-3-7-sonnet-20250219" // thinks by budget, takes no schema
	budgetNew  = "claude-haiku-4-5-20251001"  // thinks by budget, takes a schema, one of temperature and top_p
	budgetHard = "claude-opus-4-5"            // thinks by budget and knows efforts
	bothWays   = "claude-sonnet-4-6"          // thinks by budget or by itself, no prefill
	byItself   = "claude-opus-4-7"            // thinks by itself when asked, no sampling
	byDefault  = "claude-sonnet-5"            // thinks unless told not to
	always     = "claude-fable-5"             // cannot be stopped, cannot be forced to call a tool
	unknown    = "claude-nova-9"              // newer than the catalogue
)

func model(t testing.TB, id string) *catalog.Model {
	t.Helper()
	c := providertest.Catalog(t)
	if m, ok := c.Model(id); ok {
		return m
	}
	return c.Derive(catalog.Anthropic, id)
}

// testKey is what calls are made with.
const testKey = "sk-ant-test"

func provider(baseURL string) *Provider {
	return New(providers.Options{
		BaseURL:       baseURL,
		HeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
		Now: func() time.Time { return time.Unix(1760000000, 0) },
	})
}

func chatRequest(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("the test's own request: %v\n%.1000s", err, body)
	}
	return req
}

func prepare(t testing.TB, id, body string) (*exchange, error) {
	t.Helper()
	x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{Request: chatRequest(t, body), Model: model(t, id)})
	if err != nil {
		return nil, err
	}
	return x.(*exchange), nil
}

// sent is the body for the upstream, without the given members, and the ignored
// fields.
func sent(t testing.TB, id, body string, without ...string) (string, []string) {
	t.Helper()
	x, err := prepare(t, id, body)
	if err != nil {
		t.Fatal(err)
	}
	if len(without) == 0 {
		return string(x.body), x.ignored
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(x.body, &all); err != nil {
		t.Fatalf("%v\n%s", err, x.body)
	}
	for _, name := range without {
		delete(all, name)
	}
	left, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(left), x.ignored
}

const (
	oneTool  = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	sentTool = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
)

// parameters are fields beside one message, with what is sent beside it.
var parameters = []struct {
	name, model, fields, want string
	ignored                   []string
}{
	{"nothing", budgetNew, ``, `{"max_tokens":8192}`, nil},

	// The limit.
	{"usual limit of a short model", noThinking, ``, `{"max_tokens":4096}`, nil},
	{"the client's limit", budgetNew, `"max_tokens":5`, `{"max_tokens":5}`, nil},
	{"the newer field goes first", budgetNew, `"max_tokens":5,"max_completion_tokens":7`, `{"max_tokens":7}`, []string{"max_tokens"}},
	{"twice the same", budgetNew, `"max_tokens":7,"max_completion_tokens":7`, `{"max_tokens":7}`, nil},
	{"beyond the model", noThinking, `"max_completion_tokens":9000`, `{"max_tokens":4096}`, []string{"max_completion_tokens"}},
	{"beyond the model, older field", noThinking, `"max_tokens":9000`, `{"max_tokens":4096}`, []string{"max_tokens"}},

	// Sampling.
	{"both where both go", noThinking, `"temperature":0.3,"top_p":0.5,"top_k":7`, `{"max_tokens":4096,"temperature":0.3,` +
		`"top_k":7,"top_p":0.5}`, nil},
	{"a temperature too high", noThinking, `"temperature":1.4`, `{"max_tokens":4096,"temperature":1}`, []string{"temperature"}},
	{"the highest temperature", noThinking, `"temperature":1`, `{"max_tokens":4096,"temperature":1}`, nil},
	{"one of two", budgetNew, `"temperature":0,"top_p":0.5`, `{"max_tokens":8192,"temperature":0}`, []string{"top_p"}},
	{"one of two, the other at its default", budgetNew, `"temperature":0.2,"top_p":1`, `{"max_tokens":8192,"temperature":0.2}`, nil},
	{"the other of two", budgetNew, `"temperature":1,"top_p":0.5`, `{"max_tokens":8192,"top_p":0.5}`, nil},
	{"top_p alone", budgetNew, `"top_p":0.5`, `{"max_tokens":8192,"top_p":0.5}`, nil},
	{"none of them", byItself, `"top_p":0.5,"temperature":0.5,"top_k":3`, `{"max_tokens":8192}`, []string{"top_p", "temperature", "top_k"}},
	{"none of them, at their defaults", byItself, `"top_p":1,"temperature":1`, `{"max_tokens":8192}`, nil},
	{"none of them, unknown model", unknown, `"temperature":0.5`, `{"max_tokens":8192}`, []string{"temperature"}},
	{"while thinking", budgetNew, `"temperature":0.5,"top_p":0.9,"top_k":3,"reasoning_effort":"low"`,
		`{"max_tokens":10240,"thinking":{"type":"enabled","budget_tokens":2048}}`, []string{"temperature", "top_p", "top_k"}},
	{"while thinking, with a high top_p", budgetNew, `"temperature":1,"top_p":0.97,"reasoning_effort":"low"`,
		`{"max_tokens":10240,"thinking":{"type":"enabled","budget_tokens":2048},"top_p":0.97}`, nil},
	{"while thinking by itself", bothWays, `"temperature":0.5,"reasoning_effort":"low"`,
		`{"max_tokens":8192,"output_config":{"effort":"low"},"thinking":{"type":"adaptive","display":"summarized"}}`, []string{"temperature"}},

	// Stop.
	{"one stop", budgetNew, `"stop":"END"`, `{"max_tokens":8192,"stop_sequences":["END"]}`, nil},
	{"blank stops", budgetNew, `"stop":["\n","a"," ",""]`, `{"max_tokens":8192,"stop_sequences":["a"]}`, []string{"stop"}},
	{"nothing but blank stops", budgetNew, `"stop":"\n\n"`, `{"max_tokens":8192}`, []string{"stop"}},
	{"no stops", budgetNew, `"stop":[]`, `{"max_tokens":8192}`, nil},

	// The end user and the service.
	{"user", budgetNew, `"user":"u-1"`, `{"max_tokens":8192,"metadata":{"user_id":"u-1"}}`, nil},
	{"safety_identifier goes first", budgetNew, `"user":"u-1","safety_identifier":"s"`, `{"max_tokens":8192,` +
		`"metadata":{"user_id":"s"}}`, []string{"user"}},
	{"an e-mail address", budgetNew, `"user":"ann@example.com"`, `{"max_tokens":8192,` +
		`"metadata":{"user_id":"71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476"}}`, nil},
	{"service tier", budgetNew, `"service_tier":"auto"`, `{"max_tokens":8192,"service_tier":"auto"}`, nil},
	{"service tier default", budgetNew, `"service_tier":"default"`, `{"max_tokens":8192}`, nil},
	{"service tier flex", budgetNew, `"service_tier":"flex"`, `{"max_tokens":8192}`, []string{"service_tier"}},
	{"cache_control of the whole request", budgetNew, `"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		`{"cache_control":{"type":"ephemeral",` +
			`"ttl":"1h"},"max_tokens":8192}`, nil},

	// Thinking by effort.
	{"budget, minimal", budgetNew, `"reasoning_effort":"minimal"`, `{"max_tokens":9216,"thinking":{"type":"enabled",` +
		`"budget_tokens":1024}}`, nil},
	{"budget, medium", budgetNew, `"reasoning_effort":"medium"`, `{"max_tokens":18192,"thinking":{"type":"enabled",` +
		`"budget_tokens":10000}}`, nil},
	{"budget, high", budgetNew, `"reasoning_effort":"high","max_tokens":30000`, `{"max_tokens":30000,"thinking":{"type":"enabled",` +
		`"budget_tokens":16384}}`, nil},
	{"budget above the limit", budgetNew, `"reasoning_effort":"high","max_tokens":8000`, `{"max_tokens":8000,"thinking":` +
		`{"type":"enabled","budget_tokens":6000}}`, []string{"reasoning_effort"}},
	{"budget and a limit of all that is least", budgetNew, `"reasoning_effort":"low","max_completion_tokens":1366`,
		`{"max_tokens":1366,"thinking":{"type":"enabled","budget_tokens":1025}}`, []string{"reasoning_effort"}},
	{"limit too short to think", budgetNew, `"reasoning_effort":"high","max_completion_tokens":200`, `{"max_tokens":200}`,
		[]string{"reasoning_effort"}},
	{"budget, xhigh", budgetNew, `"reasoning_effort":"xhigh"`, `{"max_tokens":40960,"thinking":{"type":"enabled",` +
		`"budget_tokens":32768}}`, nil},
	{"budget beyond the model", "claude-opus-4-20250514", `"reasoning_effort":"xhigh"`, `{"max_tokens":32000,` +
		`"thinking":{"type":"enabled","budget_tokens":24000}}`, nil},
	{"budget, none", budgetNew, `"reasoning_effort":"none"`, `{"max_tokens":8192,"thinking":{"type":"disabled"}}`, nil},
	{"budget and effort", budgetHard, `"reasoning_effort":"low"`, `{"max_tokens":10240,"output_config":{"effort":"low"},` +
		`"thinking":{"type":"enabled","budget_tokens":2048}}`, nil},
	{"no thinking", noThinking, `"reasoning_effort":"low"`, `{"max_tokens":4096}`, []string{"reasoning_effort"}},
	{"no thinking, none", noThinking, `"reasoning_effort":"none"`, `{"max_tokens":4096}`, nil},
	{"by itself", byItself, `"reasoning_effort":"xhigh"`, `{"max_tokens":8192,"output_config":{"effort":"xhigh"},` +
		`"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{"no xhigh but max", bothWays, `"reasoning_effort":"xhigh"`, `{"max_tokens":8192,"output_config":{"effort":"max"},` +
		`"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{"minimal is low", byDefault, `"reasoning_effort":"minimal"`, `{"max_tokens":8192,"output_config":{"effort":"low"},` +
		`"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{"less than asked", unknown, `"reasoning_effort":"max"`, `{"max_tokens":8192,"output_config":{"effort":"high"},` +
		`"thinking":{"type":"adaptive","display":"summarized"}}`, []string{"reasoning_effort"}},
	{"switched off", byDefault, `"reasoning_effort":"none"`, `{"max_tokens":8192,"thinking":{"type":"disabled"}}`, nil},
	{"cannot be switched off", always, `"reasoning_effort":"none"`, `{"max_tokens":8192}`, []string{"reasoning_effort"}},
	{"not asked for", byDefault, ``, `{"max_tokens":8192}`, nil},

	// Thinking in Anthropic's words.
	{"native budget", budgetNew, `"thinking":{"type":"enabled","budget_tokens":4000},"max_tokens":5000`,
		`{"max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":4000}}`, nil},
	{"native budget without a limit", budgetNew, `"thinking":{"type":"enabled","budget_tokens":4000}`,
		`{"max_tokens":12192,"thinking":{"type":"enabled","budget_tokens":4000}}`, nil},
	{"native budget above the limit", budgetNew, `"thinking":{"type":"enabled","budget_tokens":4000},"max_tokens":3000`,
		`{"max_tokens":3000,"thinking":{"type":"enabled","budget_tokens":2250}}`, []string{"thinking"}},
	{"native budget too small", budgetNew, `"thinking":{"type":"enabled","budget_tokens":10}`,
		`{"max_tokens":9216,"thinking":{"type":"enabled","budget_tokens":1024}}`, []string{"thinking"}},
	{"native budget too large", budgetNew, `"thinking":{"type":"enabled","budget_tokens":9007199254740992}`,
		`{"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":48000}}`, []string{"thinking"}},
	{"native budget where both ways go", bothWays, `"thinking":{"type":"enabled","budget_tokens":4000}`,
		`{"max_tokens":12192,"thinking":{"type":"enabled","budget_tokens":4000}}`, nil},
	{"native budget and effort", budgetHard, `"thinking":{"type":"enabled","budget_tokens":4000},"reasoning_effort":"high"`,
		`{"max_tokens":12192,"output_config":{"effort":"high"},"thinking":{"type":"enabled","budget_tokens":4000}}`, nil},
	{"native budget, effort unknown", budgetNew, `"thinking":{"type":"enabled","budget_tokens":4000},"reasoning_effort":"high"`,
		`{"max_tokens":12192,"thinking":{"type":"enabled","budget_tokens":4000}}`, []string{"reasoning_effort"}},
	{"budget as effort", byItself, `"thinking":{"type":"enabled","budget_tokens":16000}`, `{"max_tokens":8192,` +
		`"output_config":{"effort":"high"},"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{"budget as the nearest effort", unknown, `"thinking":{"type":"enabled","budget_tokens":60000}`,
		`{"max_tokens":8192,"output_config":{"effort":"high"},"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{
		"adaptive",
		byItself,
		`"thinking":{"type":"adaptive"}`,
		`{"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}`,
		nil,
	},
	{"adaptive with effort", byItself, `"thinking":{"type":"adaptive"},"reasoning_effort":"medium"`,
		`{"max_tokens":8192,"output_config":{"effort":"medium"},"thinking":{"type":"adaptive","display":"summarized"}}`, nil},
	{"adaptive and silent", byItself, `"thinking":{"type":"adaptive","display":"omitted"}`, `{"max_tokens":8192,` +
		`"thinking":{"type":"adaptive","display":"omitted"}}`, nil},
	{"adaptive by budget", budgetNew, `"thinking":{"type":"adaptive"}`, `{"max_tokens":18192,"thinking":{"type":"enabled",` +
		`"budget_tokens":10000}}`, nil},
	{"adaptive by the effort's budget", budgetNew, `"thinking":{"type":"adaptive"},"reasoning_effort":"low"`,
		`{"max_tokens":10240,"thinking":{"type":"enabled","budget_tokens":2048}}`, nil},
	{"adaptive, none", byItself, `"thinking":{"type":"adaptive"},"reasoning_effort":"none"`, `{"max_tokens":8192,` +
		`"thinking":{"type":"adaptive","display":"summarized"}}`, []string{"reasoning_effort"}},
	{"disabled", byDefault, `"thinking":{"type":"disabled"}`, `{"max_tokens":8192,"thinking":{"type":"disabled"}}`, nil},
	{"disabled, with a high effort", byDefault, `"thinking":{"type":"disabled"},"reasoning_effort":"max"`,
		`{"max_tokens":8192,"output_config":{"effort":"high"},"thinking":{"type":"disabled"}}`, []string{"reasoning_effort"}},
	{"disabled where it never thinks", noThinking, `"thinking":{"type":"disabled"}`, `{"max_tokens":4096}`, nil},
	{"disabled where it always thinks", always, `"thinking":{"type":"disabled"}`, `{"max_tokens":8192}`, []string{"thinking"}},
	{"enabled where it never thinks", noThinking, `"thinking":{"type":"enabled","budget_tokens":2000}`, `{"max_tokens":4096}`,
		[]string{"thinking"}},

	// Thinking and tools.
	{"a forced tool and a budget", budgetNew, oneTool + `,"tool_choice":"required","reasoning_effort":"low","temperature":0.5`,
		`{"max_tokens":8192,"temperature":0.5,"tool_choice":{"type":"any"},` + sentTool + `}`, []string{"reasoning_effort"}},
	{"a forced tool and both ways", bothWays, oneTool + `,"tool_choice":"required","thinking":{"type":"enabled","budget_tokens":2000}`,
		`{"max_tokens":8192,"output_config":{"effort":"low"},"thinking":{"type":"adaptive","display":"summarized"},` +
			`"tool_choice":{"type":"any"},` + sentTool + `}`, nil},
	{"a tool that cannot be forced", always, oneTool + `,"tool_choice":{"type":"function","function":{"name":"f"}}`,
		`{"max_tokens":8192,"tool_choice":{"type":"auto"},` + sentTool + `}`, []string{"tool_choice"}},

	// The choice among tools.
	{"auto", budgetNew, oneTool, `{"max_tokens":8192,"tool_choice":{"type":"auto"},` + sentTool + `}`, nil},
	{"one at a time", budgetNew, oneTool + `,"parallel_tool_calls":false`, `{"max_tokens":8192,"tool_choice":{"type":"auto",` +
		`"disable_parallel_tool_use":true},` + sentTool + `}`, nil},
	{"none", budgetNew, oneTool + `,"tool_choice":"none","parallel_tool_calls":false`, `{"max_tokens":8192,` +
		`"tool_choice":{"type":"none"},` + sentTool + `}`, nil},
	{"named", budgetNew, oneTool + `,"tool_choice":{"type":"function","function":{"name":"f"}}`,
		`{"max_tokens":8192,"tool_choice":{"type":"tool","name":"f"},` + sentTool + `}`, nil},
	{"no tools", budgetNew, `"tool_choice":"auto","parallel_tool_calls":false,"tools":[]`, `{"max_tokens":8192}`, nil},

	// What has no equivalent.
	{"ignored", budgetNew, `"seed":1,"logit_bias":{"5":1},"logprobs":true,"top_logprobs":2,"frequency_penalty":1,` +
		`"presence_penalty":-1,"metadata":{"a":"b"},"store":true,"verbosity":"low","audio":{"voice":"x"},` +
		`"prediction":{"type":"content","content":"x"},"zeta":1`,
		`{"max_tokens":8192}`, []string{"seed", "logit_bias", "logprobs", "top_logprobs", "frequency_penalty", "presence_penalty",
			"metadata", "store", "verbosity", "audio", "prediction", "zeta"}},
	{"asked for nothing", budgetNew, `"seed":null,"zeta":null,"logit_bias":{},"logprobs":false,"top_logprobs":0,` +
		`"frequency_penalty":0,"presence_penalty":0,"metadata":{},"store":false,"verbosity":"medium","n":1,"modalities":["text"],` +
		`"response_format":{"type":"text"},"parallel_tool_calls":true,"service_tier":"default","user":""`,
		`{"max_tokens":8192}`, nil},
	{"json mode", budgetNew, `"response_format":{"type":"json_object"}`, `{"max_tokens":8192,"system":"` + jsonHint + `"}`,
		[]string{"response_format"}},
	{"a format without a schema", budgetNew, `"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`,
		`{"max_tokens":8192,"system":"` + jsonHint + `"}`, []string{"response_format"}},
}

func TestParametersAreTranslatedOrIgnored(t *testing.T) {
	for _, tt := range parameters {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"model":"m","messages":[{"role":"user","content":"hi"}]`
			if tt.fields != "" {
				body += "," + tt.fields
			}
			got, ignored := sent(t, tt.model, body+"}", "model", "messages")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !slices.Equal(ignored, tt.ignored) {
				t.Errorf("ignored %q, want %q", ignored, tt.ignored)
			}
		})
	}
}

func refusal(t *testing.T, err error) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != http.StatusBadRequest || e.Type != api.TypeInvalidRequest {
		t.Fatalf("not a 400: %v", err)
	}
	return e
}
