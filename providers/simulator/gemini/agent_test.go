package gemini_test

import (
	"net/http"
	"strings"
	"testing"

	"modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/simulatortest"
)

const agentTools = `,"tools":[{"functionDeclarations":[` +
	`{"name":"Bash","parametersJsonSchema":{"type":"object","required":["command"]}},` +
	`{"name":"Read","parametersJsonSchema":{"type":"object","required":["file_path"]}},` +
	`{"name":"Write","parametersJsonSchema":{"type":"object","required":["file_path","content"]}}]}]`

func TestAgentsTaskIsDoneInThreeTurns(t *testing.T) {
	const model = "gemini-3.5-flash"
	contents := `{"role":"user","parts":[{"text":"put \"tok\" into /tmp/hello.txt and then read the file back"}]}`
	names := ""
	for range 5 {
		raw := simulatortest.Gemini(model, "generateContent").Post(t, body(agentTools, contents))
		said := simulatortest.Decode[joined](t, raw.Body).candidate(0)
		if got := stream(t, model, body(agentTools, contents)).candidate(0); got.text != said.text || len(got.calls) != len(said.calls) {
			t.Fatalf("%+v, want %+v", got, said)
		}
		if len(said.calls) == 0 {
			break
		}
		if said.textSignature != "" || said.callSignatures[0] == "" {
			t.Fatalf("%+v", said)
		}
		names += " " + strings.Join(said.calls, " ")
		content := string(rawjson.Get(rawjson.Elements(rawjson.Get(raw.Body, "candidates"))[0], "content"))
		responses := ""
		for _, call := range said.calls {
			name, _, _ := strings.Cut(call, "{")
			responses += `,{"functionResponse":{"name":"` + name + `","response":{"output":"ok"}}}`
		}
		contents += `,` + content + `,{"role":"user","parts":[` + responses[1:] + `,{"text":"<total_tokens>9</total_tokens>"}]}`
	}
	want := ` Write{"file_path":"/tmp/hello.txt","content":"tok\n"} Read{"file_path":"/tmp/hello.txt"} Bash{"command":"cat '/tmp/hello.txt'"}`
	if names != want {
		t.Fatalf("%s, want %s", names, want)
	}
}

func TestPicturesInsideAResponseAreSeen(t *testing.T) {
	a := ask(t, "gemini-3.5-flash", body(agentTools, `{"role":"user","parts":[{"text":"Read a.png"}]},`+
		`{"role":"model","parts":[{"functionCall":{"name":"Read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},`+
		`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":""},`+
		`"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}}]}`))
	if said := a.candidate(0).text; !strings.HasSuffix(said, "With it came 1 image.") {
		t.Fatal(said)
	}
}

func TestCountsTokensAsItsAnswersDo(t *testing.T) {
	request := body(tools, hello)
	prompt := ask(t, "gemini-2.5-flash", request).Usage.Prompt
	for _, counted := range []string{request, `{"generateContentRequest":` + strings.Replace(request, "{", `{"model":"models/x",`, 1) + `}`} {
		a := simulatortest.Gemini("gemini-2.5-flash", "countTokens").Post(t, counted)
		got := simulatortest.Decode[gemini.Counted](t, a.Body)
		if a.Status != http.StatusOK || got.Total != prompt || got.Details[0].Count != prompt {
			t.Errorf("%d %s, want %d", a.Status, a.Body, prompt)
		}
	}
	if a := simulatortest.Gemini("nope", "countTokens").Post(t, request); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
