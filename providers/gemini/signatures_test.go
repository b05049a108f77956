package gemini

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
)

// strictUpstream is an upstream that takes no signature but the documented
// stand-in, and keeps all bodies.
type strictUpstream struct {
	mu     sync.Mutex
	bodies []string
	says   string // when it refuses
	early  bool   // refuses by an event of a stream
	always bool   // refuses everything
}

func (u *strictUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	u.mu.Lock()
	u.bodies = append(u.bodies, string(body))
	u.mu.Unlock()
	known := strings.Count(string(body), skipSignature)
	if !u.always && strings.Count(string(body), `"thoughtSignature"`) == known {
		_, _ = io.WriteString(w, eventsOf(answerWith(`{"text":"fine"}`, stop)))
		return
	}
	problem := fmt.Sprintf(`{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, u.says)
	if u.early {
		problem = eventsOf(problem)
	} else {
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = io.WriteString(w, problem)
}

// eachWay sends a request for a whole answer and for a stream.
func eachWay(t *testing.T, u *strictUpstream, m *catalog.Model, body string, check func(*chat.Completion, error)) {
	t.Helper()
	for _, body := range []string{body, streaming(body)} {
		check(open(t, exchangeWithStrict(t, u, m, body)))
	}
}

const signedHistory = `{"model":"m","messages":[{"role":"user","content":"q"},
	{"role":"assistant","content":"t",
		"reasoning_details":[{"type":"reasoning.encrypted","data":"foreign","format":"google-gemini-v1","index":0}],
		"tool_calls":[
		{"id":"zi06h2mp","type":"function","function":{"name":"f","arguments":"{}"},
			"extra_content":{"google":{"thought_signature":"foreign"}}},
		{"id":"zi06h2mq","type":"function","function":{"name":"f","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"zi06h2mp","content":"1"},{"role":"tool","tool_call_id":"zi06h2mq","content":"2"}]}`

func exchangeWithStrict(t *testing.T, u *strictUpstream, m *catalog.Model, body string) *exchange {
	t.Helper()
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return exchangeWith(t, provider(server.URL), m, body)
}

func TestRefusedSignaturesAreLeftOutOnce(t *testing.T) {
	for name, u := range map[string]*strictUpstream{
		"corrupted":             {says: "Corrupted thought signature."},
		"invalid":               {says: "Invalid Thought_Signature in contents[1]"},
		"inside the stream":     {says: "thoughtSignature is not valid", early: true},
		"refused again anyway":  {says: "Corrupted thought signature.", always: true},
		"about something other": {says: "Request contains an invalid argument."},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 2
			if name == "about something other" {
				tries = 1
			}
			eachWay(t, u, model(t, "gemini-3-pro-preview"), signedHistory, func(answer *chat.Completion, err error) {
				e, _ := clientError(err)
				switch {
				case tries == 2 && !u.always && (err != nil || *answer.Choices[0].Message.Content != "fine"):
					t.Errorf("%+v, %v", answer, err)
				case (tries == 1 || u.always) && (e == nil || e.Status != 400 || e.Message != u.says):
					t.Errorf("%+v, %v", answer, err)
				}
			})
			if len(u.bodies) != 2*tries || u.bodies[0] != u.bodies[tries] {
				t.Fatalf("%d bodies: %s", len(u.bodies), u.bodies)
			}
			for i, body := range u.bodies {
				parts := `{"text":"t","thoughtSignature":"foreign"},{"functionCall":{"id":"zi06h2mp","name":"f","args":{}},` +
					`"thoughtSignature":"foreign"},{"functionCall":{"id":"zi06h2mq","name":"f","args":{}}}`
				if i%tries == 1 {
					parts = `{"text":"t"},{"functionCall":{"id":"zi06h2mp","name":"f","args":{}},"thoughtSignature":"` + skipSignature +
						`"},{"functionCall":{"id":"zi06h2mq","name":"f","args":{}}}`
				}
				if !strings.Contains(body, parts) {
					t.Errorf("body %d: want %s in %s", i, parts, body)
				}
			}
		})
	}
}

func TestNothingIsSentTwiceWhenNothingWouldChange(t *testing.T) {
	u := &strictUpstream{says: "Function call is missing a thought_signature in functionCall parts.", always: true}
	eachWay(t, u, model(t, "gemini-2.5-flash"), ask, func(_ *chat.Completion, err error) {
		if e, ok := clientError(err); !ok || e.Status != 400 {
			t.Errorf("%v", err)
		}
	})
	if len(u.bodies) != 2 {
		t.Errorf("%d requests", len(u.bodies))
	}
}

func TestSignaturesAreLeftOutForEachOfSeveralSenders(t *testing.T) {
	x := exchangeWithStrict(t, &strictUpstream{says: "Corrupted thought signature."}, model(t, "gemini-3-pro-preview"), signedHistory)
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			if answer, err := open(t, x); err != nil || *answer.Choices[0].Message.Content != "fine" {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	senders.Wait()
}

const imageHistory = `{"model":"m","messages":[{"role":"user","content":"draw"},
	{"role":"assistant","content":"here","images":[
		{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,BBBB"}}]},
	{"role":"user","content":"redder"}]}`

func TestImageModelsAreToldThatSignaturesAreMissing(t *testing.T) {
	u := &strictUpstream{says: "Image part is missing a thought_signature in content position 2, part position 1.", always: true}
	eachWay(t, u, model(t, "gemini-3-pro-image-preview"), imageHistory, func(_ *chat.Completion, err error) {
		if err == nil {
			t.Error("no error")
		}
	})
	if len(u.bodies) != 4 || strings.Contains(u.bodies[0], "thoughtSignature") || strings.Count(u.bodies[1], skipSignature) != 3 {
		t.Errorf("bodies %s", u.bodies)
	}
}

// nextTurn has a model answer, and returns what the next request sends of it.
func nextTurn(t *testing.T, from, parts, to string, keep func(*chat.Answer)) ([]part, []string) {
	t.Helper()
	m := complete(t, from, ask, eventsOf(answerWith(parts, stop))).Choices[0].Message
	keep(&m)
	text, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"m","messages":[{"role":"user","content":"q"},` + string(text)
	for _, c := range m.ToolCalls {
		body += fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":"1"}`, c.ID)
	}
	x, err := prepare(t, to, body+`,{"role":"user","content":"q"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Contents []content `json:"contents"`
	}
	if err := json.Unmarshal(x.body, &sent); err != nil || len(sent.Contents) != 3 || sent.Contents[1].Role != roleModel {
		t.Fatalf("%v in %s", err, x.body)
	}
	return sent.Contents[1].Parts, x.Properties().Ignored
}

func everything(*chat.Answer) {}

// onlyOpenAI drops what the OpenAI API does not know.
func onlyOpenAI(m *chat.Answer) {
	m.ReasoningDetails = nil
	for i := range m.ToolCalls {
		m.ToolCalls[i].ExtraContent = nil
	}
}

func TestSignaturesStayWithTheirModel(t *testing.T) {
	const parts = `{"text":"t","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","id":"zi06h2mp"},"thoughtSignature":"Y2FsbA=="}`
	for name, keep := range map[string]func(*chat.Answer){"everything": everything, "only OpenAI": onlyOpenAI} {
		for to, want := range map[string][2]string{
			"gemini-3-pro-preview":   {"c2ln", "Y2FsbA=="},
			"gemini-3-flash-preview": {"", skipSignature},
			"gemini-2.5-flash":       {"", ""},
			"gemini-2.0-flash":       {"", ""},
		} {
			t.Run(to+" with "+name, func(t *testing.T) {
				want := want
				if name != "everything" {
					want[0] = "" // that of the text has nothing else to travel in
				}
				got, ignored := nextTurn(t, "gemini-3-pro-preview", parts, to, keep)
				if len(got) != 2 || got[0].ThoughtSignature != want[0] || got[1].ThoughtSignature != want[1] || len(ignored) > 0 {
					t.Errorf("got %+v, ignored %v", got, ignored)
				}
			})
		}
	}
}

func TestSignaturesOfImagesComeBack(t *testing.T) {
	const parts = `{"text":"a","thoughtSignature":"dGV4dA=="},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},` +
		`{"inlineData":{"mimeType":"image/png","data":"BBBB"},"thoughtSignature":"cGlj"}`
	got, ignored := nextTurn(t, "gemini-3-pro-image-preview", parts, "gemini-3-pro-image-preview", everything)
	if len(got) != 3 || got[0].ThoughtSignature != "dGV4dA==" || got[1].ThoughtSignature != "" || got[2].ThoughtSignature != "cGlj" ||
		got[1].InlineData == nil || got[1].InlineData.Data != "AAAA" || got[2].InlineData == nil || got[2].InlineData.Data != "BBBB" ||
		len(ignored) > 0 {
		t.Errorf("got %+v, ignored %v", got, ignored)
	}
}

func TestSignaturesAreReadAsTheyWereWritten(t *testing.T) {
	for text, want := range map[string]signature{
		"c2ln":         {"", noImage, "c2ln"},
		"":             {"", noImage, ""},
		"m|c2ln":       {"m", noImage, "c2ln"},
		"m|0|c2ln":     {"m", 0, "c2ln"},
		"m|12|c2ln":    {"m", 12, "c2ln"},
		"m|-2|c2ln":    {"m", noImage, "c2ln"},
		"m|x|y|c2ln":   {"m", noImage, "c2ln"},
		"models|1|a==": {"models", 1, "a=="},
	} {
		if got := parseSignature(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for _, want := range []signature{{"m", noImage, "a=="}, {"m", 0, "b"}, {"gemini-3", 7, "c"}} {
		if got := parseSignature(want.String()); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}
