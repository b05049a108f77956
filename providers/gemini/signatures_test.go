package gemini

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/chunk"
)

// suspicious is an upstream that takes no signature but the documented
// stand-in, and keeps all bodies.
type suspicious struct {
	mu     sync.Mutex
	bodies []string
	says   string // when it refuses
	early  bool   // refuses by an event of a stream
	always bool   // refuses everything
}

func (u *suspicious) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	u.mu.Lock()
	u.bodies = append(u.bodies, string(body))
	u.mu.Unlock()
	known := strings.Count(string(body), noSignature)
	if !u.always && strings.Count(string(body), `"thoughtSignature"`) == known {
		_, _ = io.WriteString(w, eventsOf(said(`{"text":"fine"}`, stop)))
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

// eachWay sends an exchange whole and as a stream.
func eachWay(t *testing.T, x providers.Exchange, judge func(*api.ChatCompletion, error)) {
	t.Helper()
	judge(x.Complete(t.Context(), testKey))
	s, err := x.Stream(t.Context(), testKey)
	if err != nil {
		judge(nil, err)
		return
	}
	judge(chunk.Collect(s))
}

const signedHistory = `{"model":"m","messages":[{"role":"user","content":"q"},
	{"role":"assistant","content":"t","reasoning_details":[{"type":"reasoning.encrypted","data":"foreign","format":"google-gemini-v1","index":0}],"tool_calls":[
		{"id":"zi06h2mp","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"foreign"}}},
		{"id":"zi06h2mq","type":"function","function":{"name":"f","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"zi06h2mp","content":"1"},{"role":"tool","tool_call_id":"zi06h2mq","content":"2"}]}`

func suspect(t *testing.T, u *suspicious, m catalog.Model, body string) providers.Exchange {
	t.Helper()
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	req, err := api.DecodeChatRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	x, err := provider(server.URL).Prepare(providers.Call{Request: req, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRefusedSignaturesAreLeftOutOnce(t *testing.T) {
	for name, u := range map[string]*suspicious{
		"corrupted":             {says: "Corrupted thought signature."},
		"invalid":               {says: "Invalid Thought_Signature in contents[1]"},
		"inside the stream":     {says: "thoughtSignature is not valid", early: true},
		"refused again anyway":  {says: "Corrupted thought signature.", always: true},
		"about something other": {says: "Request contains an invalid argument."},
	} {
		t.Run(name, func(t *testing.T) {
			x := suspect(t, u, model(t, "gemini-3-pro-preview"), signedHistory)
			tries := 2
			if name == "about something other" {
				tries = 1
			}
			eachWay(t, x, func(answer *api.ChatCompletion, err error) {
				e, _ := errors.AsType[*api.Error](err)
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
				parts := `{"text":"t","thoughtSignature":"foreign"},{"functionCall":{"id":"zi06h2mp","name":"f","args":{}},"thoughtSignature":"foreign"},{"functionCall":{"id":"zi06h2mq","name":"f","args":{}}}`
				if i%tries == 1 {
					parts = `{"text":"t"},{"functionCall":{"id":"zi06h2mp","name":"f","args":{}},"thoughtSignature":"` + noSignature + `"},{"functionCall":{"id":"zi06h2mq","name":"f","args":{}}}`
				}
				if !strings.Contains(body, parts) {
					t.Errorf("body %d: want %s in %s", i, parts, body)
				}
			}
		})
	}
}

func TestNothingIsSentTwiceWhenNothingWouldChange(t *testing.T) {
	u := &suspicious{says: "Function call is missing a thought_signature in functionCall parts.", always: true}
	eachWay(t, suspect(t, u, model(t, "gemini-2.5-flash"), ask), func(_ *api.ChatCompletion, err error) {
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 {
			t.Errorf("%v", err)
		}
	})
	if len(u.bodies) != 2 {
		t.Errorf("%d requests", len(u.bodies))
	}
}

func TestAnExchangeLeavesSignaturesOutForEachOfItsSenders(t *testing.T) {
	x := suspect(t, &suspicious{says: "Corrupted thought signature."}, model(t, "gemini-3-pro-preview"), signedHistory)
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			if answer, err := x.Complete(t.Context(), testKey); err != nil || *answer.Choices[0].Message.Content != "fine" {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	senders.Wait()
}

const drawn = `{"model":"m","messages":[{"role":"user","content":"draw"},
	{"role":"assistant","content":"here","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,BBBB"}}]},
	{"role":"user","content":"redder"}]}`

func TestMakersOfPicturesAreToldThatSignaturesAreMissing(t *testing.T) {
	u := &suspicious{says: "Image part is missing a thought_signature in content position 2, part position 1.", always: true}
	eachWay(t, suspect(t, u, model(t, "gemini-3-pro-image-preview"), drawn), func(_ *api.ChatCompletion, err error) {
		if err == nil {
			t.Error("no error")
		}
	})
	if len(u.bodies) != 4 || strings.Contains(u.bodies[0], "thoughtSignature") || strings.Count(u.bodies[1], noSignature) != 3 {
		t.Errorf("bodies %s", u.bodies)
	}
}

// told is what a model said before, and what another request makes of it.
func told(t *testing.T, from, parts, to string, keep func(*api.Answer)) ([]part, []string) {
	t.Helper()
	m := complete(t, from, ask, eventsOf(said(parts, stop))).Choices[0].Message
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
	return sent.Contents[1].Parts, x.Ignored()
}

func everything(*api.Answer) {}

// onlyOpenAI drops what the OpenAI API does not know.
func onlyOpenAI(m *api.Answer) {
	m.ReasoningDetails = nil
	for i := range m.ToolCalls {
		m.ToolCalls[i].ExtraContent = nil
	}
}

func TestSignaturesStayWithTheirModel(t *testing.T) {
	const parts = `{"text":"t","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","id":"zi06h2mp"},"thoughtSignature":"Y2FsbA=="}`
	for name, keep := range map[string]func(*api.Answer){"everything": everything, "only OpenAI": onlyOpenAI} {
		for to, want := range map[string][2]string{
			"gemini-3-pro-preview":   {"c2ln", "Y2FsbA=="},
			"gemini-3-flash-preview": {"", noSignature},
			"gemini-2.5-flash":       {"", ""},
			"gemini-2.0-flash":       {"", ""},
		} {
			t.Run(to+" with "+name, func(t *testing.T) {
				want := want
				if name != "everything" {
					want[0] = "" // that of the text has nothing else to travel in
				}
				got, ignored := told(t, "gemini-3-pro-preview", parts, to, keep)
				if len(got) != 2 || got[0].ThoughtSignature != want[0] || got[1].ThoughtSignature != want[1] || len(ignored) > 0 {
					t.Errorf("got %+v, ignored %v", got, ignored)
				}
			})
		}
	}
}

func TestSignaturesOfPicturesComeBack(t *testing.T) {
	const parts = `{"text":"a","thoughtSignature":"dGV4dA=="},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"image/png","data":"BBBB"},"thoughtSignature":"cGlj"}`
	got, ignored := told(t, "gemini-3-pro-image-preview", parts, "gemini-3-pro-image-preview", everything)
	if len(got) != 3 || got[0].ThoughtSignature != "dGV4dA==" || got[1].ThoughtSignature != "" || got[2].ThoughtSignature != "cGlj" ||
		got[1].InlineData == nil || got[1].InlineData.Data != "AAAA" || got[2].InlineData == nil || got[2].InlineData.Data != "BBBB" || len(ignored) > 0 {
		t.Errorf("got %+v, ignored %v", got, ignored)
	}
}

func TestSealsCanBeRead(t *testing.T) {
	for text, want := range map[string]sealed{
		"c2ln":         {"", onText, "c2ln"},
		"":             {"", onText, ""},
		"m|c2ln":       {"m", onText, "c2ln"},
		"m|0|c2ln":     {"m", 0, "c2ln"},
		"m|12|c2ln":    {"m", 12, "c2ln"},
		"m|-2|c2ln":    {"m", onText, "c2ln"},
		"m|x|y|c2ln":   {"m", onText, "c2ln"},
		"models|1|a==": {"models", 1, "a=="},
	} {
		if got := unseal(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for _, want := range []sealed{{"m", onText, "a=="}, {"m", 0, "b"}, {"gemini-3", 7, "c"}} {
		if got := unseal(want.String()); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}
