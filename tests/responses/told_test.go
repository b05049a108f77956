package responses

import (
	"path/filepath"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// A provider that refuses may say why. That is the part of the answer that is a refusal.
func TestWhyAProviderRefusesIsToldAsARefusal(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	const usage = `"usage":{"input_tokens":30,"output_tokens":9}`
	const head = `"id":"msg_1","type":"message","role":"assistant","model":"` + haiku + `"`
	const end = `"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"bio","explanation":"It is unsafe."}`
	const blocked = `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"It is unsafe."},` +
		`"usageMetadata":{"promptTokenCount":30,"totalTokenCount":30},"modelVersion":"` + flash + `"}`
	scripts := map[bool]map[string]providertest.Script{
		false: {
			"anthropic": gatewaytest.JSON(200, `{`+head+`,"content":[],`+end+`,`+usage+`}`), "gemini": gatewaytest.JSON(200, blocked),
		},
		true: {
			"anthropic": gatewaytest.Events(providertest.Proper,
				`data: {"type":"message_start","message":{`+head+`,"content":[],"stop_reason":null,`+usage+"}}\n\n",
				`data: {"type":"message_delta","delta":{`+end+`},"usage":{"output_tokens":9}}`+"\n\n", `data: {"type":"message_stop"}`+"\n\n"),
			"gemini": gatewaytest.Events(providertest.Proper, "data: "+blocked+"\r\n\r\n"),
		},
	}
	wholeAndStreamed(t, u, func(t *testing.T, provider string, up *providertest.Upstream, streamed bool) {
		up.Play(scripts[streamed][provider])
		r, err := ask(t, p, body(models[provider], ""), streamed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != "incomplete" || r.IncompleteDetails.Reason != "content_filter" || itemsOf(r) != "message" ||
			len(r.Output[0].Content) != 1 || r.Output[0].Content[0].Type != "refusal" || r.Output[0].Content[0].Refusal != "It is unsafe." {
			t.Errorf("%s", r.RawJSON())
		}
	})
}

// A summary of a conversation costs what the call that writes it costs.
func TestASummaryIsBookedAsTheCallThatWritesIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gateway.db")
	p, u := gatewaytest.StartAll(t, "DATABASE_URL=sqlite:"+file)
	const items = `"input":[{"role":"user","content":"first"},{"type":"compaction_trigger"}]`
	for provider, answer := range map[string]scripted{
		"anthropic": {[]string{`{"type":"text","text":"They want this."}`}, "end_turn"}, "gemini": {[]string{`{"text":"They want this."}`}, "STOP"},
	} {
		model := `{"model":"` + models[provider] + `",`
		for name, of := range map[string]struct {
			path, body string
			streamed   bool
		}{
			"whole": {path, model + items + "}", false}, "streamed": {path, model + items + gatewaytest.Streaming + "}", true},
			"compact": {compactPath, body(models[provider], ""), false}, "plain": {path, body(models[provider], ""), false},
		} {
			u[provider].Play(answer.script(provider, of.streamed))
			if a := p.Call(t, "POST", of.path, of.body, "X-Request-Id", provider+"-"+name); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		want := gatewaytest.AwaitLedgerRow(t, file, provider+"-plain")
		if want.Prompt != 30 || want.Output != 9 || want.Cost == 0 {
			t.Fatalf("%+v", want)
		}
		for _, name := range []string{"whole", "streamed", "compact"} {
			row := gatewaytest.AwaitLedgerRow(t, file, provider+"-"+name)
			if row.Prompt != want.Prompt || row.Cached != want.Cached || row.Written != want.Written || row.Output != want.Output ||
				row.Cost != want.Cost || row.Outcome != want.Outcome || row.Estimated {
				t.Errorf("%s %s: %+v, not %+v", provider, name, row, want)
			}
		}
	}
}
