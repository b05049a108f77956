package responses

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

const wholeResponse = `{"id":"resp_0123456789","object":"response","status":"completed","model":"gpt-x","service_tier":"default",` +
	`"output":[{"type":"message","content":[{"type":"output_text","text":"fine"}]}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`

// askNatively is the answer of an upstream to a native call.
func askNatively(t testing.TB, body string, script providertest.Script) (*llm.Answer, error) {
	t.Helper()
	up := providertest.Serve(t, script)
	x, err := apiAt(up.URL).Prepare(responsesCall(body))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := x.Open(t.Context(), "k")
	if err != nil {
		return nil, err
	}
	return llm.Collect(stream)
}

const plainRequest = `{"model":"m","input":"hi"}`

func TestRecordedAnswersComeBackByteForByteButForTheirIDs(t *testing.T) {
	whole, refused := 0, 0
	for _, rec := range alsoKept(recordings(t)) {
		if rec.Stream {
			continue
		}
		answer, err := askNatively(t, plainRequest, rec.Script())
		if rec.Failed() {
			refused++
			r, ok := errors.AsType[*providers.Refusal](err)
			if passes := rec.Status != 401 && rec.Status != 403; !ok || r.Status != rec.Status || (r.Dialect == llm.Responses) != passes ||
				passes && string(r.Body) != strings.ReplaceAll(string(rec.Body), "organization org-own", "organization [account]") {
				t.Errorf("%s: %v, %s", rec.File, err, r.Body)
			}
			continue
		}
		whole++
		if err != nil || string(answer.Raw) != renamed(string(rec.Body), rec) || answer.ID != renamed(idIn(rec), rec) || !answer.Usage.Counts() {
			t.Errorf("%s: %v, %+v", rec.File, err, answer)
		}
	}
	if whole < 12 || refused < 12 {
		t.Errorf("%d answers, %d errors", whole, refused)
	}
}

func TestAWholeResponseIsMetered(t *testing.T) {
	body := strings.NewReplacer(`"default"`, `"flex"`, `"output":[`, `"output":[{"type":"web_search_call","action":{"type":"search"}},`+
		`{"type":"image_generation_call"},{"type":"function_call","name":"f"},`, `"status":"completed"`,
		`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`).Replace(wholeResponse)
	answer, err := askNatively(t, plainRequest, jsonScript(200, body))
	want := &llm.Usage{Input: 3, Output: 2, Total: 5, Tier: "flex", Searches: 1, Tools: 1}
	if err != nil || !reflect.DeepEqual(answer.Usage, want) || answer.ServiceTier != "flex" || answer.Choices[0].Finish != llm.FinishLength ||
		answer.Choices[0].NativeReason != "max_output_tokens" || answer.Model != "gpt-x" {
		t.Errorf("%+v, %+v, %v", answer, answer.Usage, err)
	}
	body = `{"object":"response","output":[{"type":"reasoning","summary":[{"text":"hm "}]},{"type":"message","content":[{"text":"a\n"},{"refusal":"no"}]},` +
		`{"type":"function_call","name":"find","arguments":"{\"x\":1}"},{"type":"custom_tool_call","name":"p","input":"+"},7,{"content":7}]}`
	answer, err = askNatively(t, plainRequest, jsonScript(200, body))
	if err != nil || answer.Usage != nil || answer.Choices[0].Blocks[0].Text != "hm a\nnofind{\"x\":1}p+" {
		t.Errorf("without usage: %+v, %v", answer, err)
	}
}

func TestAnAnswerThatIsNoResponseIsRefused(t *testing.T) {
	failed := strings.Replace(wholeResponse, `"status":"completed"`, `"status":"failed","error":{"code":"server_error","message":"broken"}`, 1)
	for _, tt := range []struct {
		name, body string
		status     int // of the refusal
		raw        string
	}{
		{"one that failed", failed, 500, `{"error":{"message":"broken","type":"server_error","param":null,"code":"server_error"}}`},
		{"an error", `{"error":{"message":"slow","type":"rate_limit_error","code":"slow"}}`, 429,
			`{"error":{"message":"slow","type":"rate_limit_error","param":null,"code":"slow"}}`},
		{"a list", `[]`, 0, ""},
		{"another object", `{"id":"x","object":"chat.completion","output":[]}`, 0, ""},
		{"without output", `{"id":"x","object":"response"}`, 0, ""},
		{"broken JSON", wholeResponse[:len(wholeResponse)-1], 0, ""},
		{"more than an object", wholeResponse + "}", 0, ""},
		{"a page", "<html></html>", 0, ""},
	} {
		_, err := askNatively(t, plainRequest, jsonScript(200, tt.body))
		if r, ok := errors.AsType[*providers.Refusal](err); !ok || r.Status != tt.status || string(r.Body) != tt.raw {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestErrorsOfTheUpstreamArePassedOnInItsWords(t *testing.T) {
	const said = `{"error": {"message":"in  its own\n words","type":"t","param":null,"code":"c"}, "new":1}`
	for _, tt := range []struct {
		status int
		body   string
		passes bool
	}{
		{400, said, true}, {404, said, true}, {409, said, true}, {413, said, true}, {422, said, true}, {429, said, true}, {500, said, true}, {503, said, true},
		{401, said, false}, {402, said, false}, {403, said, false}, {400, `{"message":"m"}`, false}, {400, "<html>", false}, {500, `{"error":"x"}`, false},
		{400, said + "x", false}, {400, `{"error":{"message":"","type":"t"}}`, false},
	} {
		for _, request := range []string{plainRequest, streaming} {
			_, err := askNatively(t, request, jsonScript(tt.status, tt.body))
			e := api.AsError(err)
			if passed := string(e.Raw) == tt.body && e.RawDialect == llm.Responses; passed != tt.passes || !passed && len(e.Raw) > 0 || e.UpstreamStatus != tt.status {
				t.Errorf("%d %s: %+v", tt.status, tt.body, e)
			}
		}
	}
}
