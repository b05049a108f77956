package responses_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/openai/responses"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/simulatortest"
)

const weather = `,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`

var client = simulatortest.OpenAI.At("/v1/responses")

// body is a request; extra begins with a comma, and may name the model.
func body(extra, input string) string {
	if !strings.Contains(extra, `"model"`) {
		extra = `,"model":"gpt-5.5"` + extra
	}
	return `{` + extra[1:] + `,"input":` + input + `}`
}

func ask(t *testing.T, server *httptest.Server, extra, input string) responses.Response {
	t.Helper()
	var a responses.Response
	client.Ask(t, server, body(extra, input), &a)
	return a
}

// event has what the events of a stream have of what its grammar needs.
type event struct {
	Type     string             `json:"type"`
	Number   int                `json:"sequence_number"`
	Index    int                `json:"output_index"`
	ItemID   string             `json:"item_id"`
	Item     responses.Item     `json:"item"`
	Part     responses.Part     `json:"part"`
	Delta    string             `json:"delta"`
	Text     *string            `json:"text"`
	Complete *string            `json:"arguments"`
	Input    *string            `json:"input"`
	Response responses.Response `json:"response"`
}

// stream reads a stream and checks its grammar: numbers without gaps, items one after the
// other, deltas that make up what is done, and at the end all items again.
func stream(t *testing.T, server *httptest.Server, extra, input string) responses.Response {
	t.Helper()
	a := client.Send(t, server, http.MethodPost, body(extra+`,"stream":true`, input))
	if a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var done []responses.Item
	text, open := "", ""
	all := simulatortest.Events(t, a.Body, "\n")
	for n, raw := range all {
		e := simulatortest.Decode[event](t, raw.Data)
		if e.Type != raw.Name || e.Number != n || (n == 0) != (e.Type == "response.created") || (n == 1) != (e.Type == "response.in_progress") {
			t.Fatalf("event %d: %s %s", n, raw.Name, raw.Data)
		}
		switch suffix := e.Type[strings.LastIndex(e.Type, ".")+1:]; {
		case strings.HasPrefix(e.Type, "response.output_item"):
			if e.Index != len(done) || (suffix == "added") != (open == "") || suffix == "done" && e.Item.ID != open {
				t.Fatalf("event %d: %s while %q is open", n, raw.Data, open)
			}
			open = e.Item.ID
			if suffix == "done" {
				done, open = append(done, e.Item), ""
			}
		case suffix == "delta":
			text += e.Delta
		case suffix == "done":
			for _, whole := range []*string{e.Text, e.Complete, e.Input} {
				if whole != nil {
					if *whole != text {
						t.Fatalf("event %d: %q, want %q", n, text, *whole)
					}
					text = ""
				}
			}
		}
		if e.ItemID != "" && (e.ItemID != open || e.Index != len(done)) {
			t.Fatalf("event %d: %s while %q is open", n, raw.Data, open)
		}
	}
	last := simulatortest.Decode[event](t, all[len(all)-1].Data)
	if last.Type != "response."+last.Response.Status || open != "" || len(done)+len(last.Response.Output) > 0 && !reflect.DeepEqual(done, last.Response.Output) {
		t.Fatalf("ends with %+v after %+v", last, done)
	}
	return last.Response
}

// kinds are the types of items, with what they say.
func kinds(a responses.Response) string {
	text := a.Status
	for _, i := range a.Output {
		text += " " + i.Type
		if i.Namespace != "" {
			text += ":" + i.Namespace
		}
		if i.Name != "" {
			text += ":" + i.Name
		}
		if i.Phase != "" {
			text += ":" + i.Phase
		}
	}
	return text
}

func TestAnswersAreTheSameWholeAndStreamed(t *testing.T) {
	const hello = `"Hello there"`
	custom := `,"tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec","format":{"type":"text"}}]}]`
	for name, c := range map[string]struct{ extra, input, want string }{
		"text":                 {`,"model":"gpt-4.1"`, hello, "completed message"},
		"reasoning":            {``, hello, "completed reasoning message:final_answer"},
		"a summary":            {`,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]`, hello, "completed reasoning message:final_answer"},
		"no effort":            {`,"reasoning":{"effort":"none"}`, hello, "completed message:final_answer"},
		"a call":               {weather + `,"model":"gpt-4.1"`, `"In Paris"`, "completed function_call:get_weather"},
		"two calls":            {weather + `,"model":"gpt-4.1"`, `"In Paris and Rome, both"`, "completed function_call:get_weather function_call:get_weather"},
		"one call":             {weather + `,"model":"gpt-4.1","parallel_tool_calls":false`, `"In Paris and Rome, both"`, "completed function_call:get_weather"},
		"no call":              {weather + `,"model":"gpt-4.1","tool_choice":"none"`, `"In Paris"`, "completed message"},
		"a namespace":          {custom, `"In Paris"`, "completed reasoning custom_tool_call:functions:exec"},
		"later tools":          {``, `[{"type":"additional_tools","role":"developer"` + custom + `},{"role":"user","content":"In Paris"}]`, "completed reasoning custom_tool_call:functions:exec"},
		"JSON":                 {`,"model":"gpt-4.1","text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object","properties":{"a":{"type":"integer"}}}}}`, hello, "completed message"},
		"a limit":              {`,"max_output_tokens":20`, hello, "incomplete reasoning message:final_answer"},
		"a limit of calls":     {weather + `,"model":"gpt-4.1","max_output_tokens":2`, `"In Paris"`, "incomplete function_call:get_weather"},
		"a limit of reasoning": {`,"max_output_tokens":3`, hello, "incomplete reasoning"},
		"compaction":           {``, `[{"role":"user","content":"Hello"},{"type":"compaction_trigger"}]`, "completed compaction"},
		"hosted tools":         {`,"model":"gpt-4.1","tools":[{"type":"web_search"}]`, hello, "completed message"},
		"an allowed tool":      {weather + `,"model":"gpt-4.1","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"get_weather"}]}`, hello, "completed function_call:get_weather"},
	} {
		t.Run(name, func(t *testing.T) {
			server := simulatortest.Start(t, simulator.Options{}) // OpenAI refuses the limits
			whole, streamed := ask(t, server, c.extra, c.input), stream(t, server, c.extra, c.input)
			if kinds(whole) != c.want || kinds(streamed) != c.want {
				t.Fatalf("%s, streamed %s, want %s", kinds(whole), kinds(streamed), c.want)
			}
			for _, a := range []responses.Response{whole, streamed} {
				u := a.Usage
				if u == nil || u.InputTokens == 0 || u.OutputTokens == 0 || u.TotalTokens != u.InputTokens+u.OutputTokens || a.SystemFingerprint != "simulated" ||
					(a.IncompleteDetails != nil) != (a.Status == "incomplete") || (a.CompletedAt != nil) != (a.Status == "completed") {
					t.Errorf("%+v", a)
				}
			}
			if whole.Usage.OutputTokens != streamed.Usage.OutputTokens {
				t.Errorf("%+v, streamed %+v", whole.Usage, streamed.Usage)
			}
		})
	}
}

func TestReasoningComesBack(t *testing.T) {
	server := simulatortest.Strict(t)
	a := ask(t, server, `,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}`, `"Hello"`)
	thought := a.Output[0]
	if text, ours := responses.Decrypt(thought.EncryptedContent); !ours || !strings.HasPrefix(text, "This is simulated reasoning.") ||
		(*thought.Summary)[0].Text != text || a.Usage.OutputDetails.Reasoning == 0 {
		t.Fatalf("%+v", a)
	}
	items := string(rawjson.Encode(a.Output))
	input := `[{"role":"user","content":"Hello"},` + items[1:len(items)-1] + `,{"role":"user","content":"And again"}]`
	if b := ask(t, server, ``, input); !strings.Contains((*b.Output[1].Content)[0].Text, `You said: "And again"`) {
		t.Fatalf("%+v", b)
	}
	foreign := strings.Replace(input, thought.EncryptedContent, "gAAAAAforeign", 1)
	if f := client.Send(t, server, http.MethodPost, body("", foreign)); f.Status != 400 || !strings.Contains(string(f.Body), `"code":"invalid_encrypted_content"`) {
		t.Fatalf("%d %s", f.Status, f.Body)
	}
}

func TestKeptResponsesAreReferredTo(t *testing.T) {
	server := simulatortest.Strict(t)
	first := ask(t, server, weather, `"In Paris"`)
	call := first.Output[1]
	result := `{"type":"function_call_output","call_id":"` + call.CallID + `","output":"sunny"}`
	want := `The tool get_weather returned: "sunny"`
	second := ask(t, server, weather+`,"previous_response_id":"`+first.ID+`"`, `[`+result+`]`)
	third := ask(t, server, weather, `[{"role":"user","content":"In Paris"},{"type":"item_reference","id":"`+call.ID+`"},`+result+`]`)
	for _, a := range []responses.Response{second, third} {
		if !strings.Contains((*a.Output[1].Content)[0].Text, want) {
			t.Errorf("%+v", a)
		}
	}
	fourth := ask(t, server, `,"previous_response_id":"`+second.ID+`"`, `"And now?"`)
	if fourth.Usage.InputTokens <= second.Usage.InputTokens || fourth.PreviousResponse == nil {
		t.Errorf("%+v", fourth)
	}
	at := client.At("/v1/responses/" + first.ID)
	got := simulatortest.Decode[responses.Response](t, at.Send(t, server, http.MethodGet, "").Body)
	if !reflect.DeepEqual(got, first) {
		t.Errorf("%+v, want %+v", got, first)
	}
	list := at.At(at.Path+"/input_items").Send(t, server, http.MethodGet, "")
	if !strings.Contains(string(list.Body), `"content":"In Paris"`) || !strings.Contains(string(list.Body), `"first_id":"msg_`) {
		t.Errorf("%s", list.Body)
	}
	if a := at.At(at.Path+"/cancel").Send(t, server, http.MethodPost, ""); a.Status != 400 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := at.Send(t, server, http.MethodDelete, ""); a.Status != 200 || !strings.Contains(string(a.Body), `"deleted":true`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for method, c := range map[string]simulatortest.Client{http.MethodGet: at, http.MethodDelete: at} {
		if a := c.Send(t, server, method, ""); a.Status != 404 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	for _, input := range []string{`"x","previous_response_id":"` + first.ID + `"`, `[{"type":"item_reference","id":"` + call.ID + `"}]`} {
		if a := client.Send(t, server, http.MethodPost, body("", input)); a.Status < 400 || !strings.Contains(string(a.Body), "not found") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if a := ask(t, server, `,"store":false`, `"x"`); at.At("/v1/responses/"+a.ID).Send(t, server, http.MethodGet, "").Status != 404 {
		t.Error("what was not to be stored is stored")
	}
}

func TestOldResponsesAreDropped(t *testing.T) {
	server := simulatortest.Strict(t)
	var ids []string
	for range responses.KeptResponses + 1 {
		ids = append(ids, ask(t, server, `,"model":"gpt-4.1"`, `"x"`).ID)
	}
	for i, want := range map[int]int{0: 404, 1: 200, len(ids) - 1: 200} {
		if a := client.At("/v1/responses/"+ids[i]).Send(t, server, http.MethodGet, ""); a.Status != want {
			t.Errorf("%d: %d", i, a.Status)
		}
	}
	large := ask(t, server, `,"model":"gpt-4.1"`, `"`+strings.Repeat("x", 5<<20)+`"`)
	if a := client.At("/v1/responses/"+large.ID).Send(t, server, http.MethodGet, ""); a.Status != 404 {
		t.Errorf("%d", a.Status)
	}
}

func TestCompactionStandsForTheConversation(t *testing.T) {
	server := simulatortest.Strict(t)
	a := client.At("/v1/responses/compact").Send(t, server, http.MethodPost, body(weather, `[{"role":"user","content":"Remember Paris"},{"role":"assistant","content":"Yes"}]`))
	var got struct {
		Object string           `json:"object"`
		Output []jsontext.Value `json:"output"`
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || got.Object != "response.compaction" || len(got.Output) != 2 ||
		string(got.Output[0]) != `{"role":"user","content":"Remember Paris"}` {
		t.Fatalf("%v %s", err, a.Body)
	}
	item := simulatortest.Decode[responses.Item](t, got.Output[1])
	if text, ours := responses.Decrypt(item.EncryptedContent); !ours || !strings.Contains(text, "Remember Paris") || item.Type != "compaction" {
		t.Fatalf("%s", a.Body)
	}
	next := `[` + string(got.Output[1]) + `,{"role":"user","content":"Go on"}]`
	if b := ask(t, server, "", next); b.Usage.InputTokens <= 2 {
		t.Fatalf("%+v", b.Usage)
	}
}

func TestTokensAreCounted(t *testing.T) {
	a := client.At("/v1/responses/input_tokens").Post(t, body(`,"instructions":"Be brief"`, `"Hello there"`))
	if string(a.Body) != `{"object":"response.input_tokens","input_tokens":4}` {
		t.Fatalf("%s", a.Body)
	}
}

func TestFaultsOnDemand(t *testing.T) {
	server := simulatortest.Strict(t)
	a := client.Send(t, server, http.MethodPost, body("", `"simulate error 429"`))
	if a.Status != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	a = client.Send(t, server, http.MethodPost, body(`,"stream":true`, `"simulate error midstream"`))
	all := simulatortest.Events(t, a.Body, "\n")
	for n, raw := range all {
		if e := simulatortest.Decode[event](t, raw.Data); e.Number != n {
			t.Errorf("event %d: %s", n, raw.Data)
		}
	}
	last := simulatortest.Decode[event](t, all[len(all)-1].Data)
	if all[len(all)-2].Name != "error" || last.Type != "response.failed" || last.Response.Error == nil || last.Response.Error.Code != "server_error" {
		t.Errorf("%s", a.Body)
	}
	if a = client.Send(t, server, http.MethodPost, body(`,"stream":true`, `"simulate truncation"`)); a.Err == nil {
		t.Errorf("%s", a.Body)
	}
}

func TestErrorsAreThoseOfOpenAI(t *testing.T) {
	refuse := client.Refuser(t)
	refuse("an unknown model", body(`,"model":"nope"`, `"x"`), 400, `"param":"model","code":"model_not_found"`)
	refuse("a model for embeddings", body(`,"model":"text-embedding-3-small"`, `"x"`), 400, `"code":"model_not_found"`)
	refuse("no model", `{"input":"x"}`, 400, `"code":"missing_required_parameter"`)
	refuse("no object", `[]`, 400, "could not parse")
	refuse("another type", body(`,"stream":7`, `"x"`), 400, `"type":"invalid_request_error"`)
	server := simulatortest.Strict(t)
	for header, want := range map[string]int{"websocket": 426, "": 405} {
		c := simulatortest.Client{Header: map[string]string{"Authorization": "Bearer x", "Upgrade": header, "Connection": "Upgrade"}, Path: "/v1/responses"}
		if a := c.Send(t, server, http.MethodGet, ""); a.Status != want {
			t.Errorf("%q: %d %s", header, a.Status, a.Body)
		}
	}
	if a := (simulatortest.Client{Path: "/v1/responses"}).Send(t, server, http.MethodPost, body("", `"x"`)); a.Status != 401 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
