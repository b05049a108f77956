package roundtrip

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"modelgateway/llm"
)

func TestThoughtsComeBackInASignature(t *testing.T) {
	for _, want := range []llm.Thought{
		{},
		{Format: llm.FormatOpenAI, Model: "gpt-6-sol", Kind: llm.ThoughtEncrypted, ItemID: "rs_1", Data: "gAAAA=="},
		{Format: llm.FormatGemini, Kind: llm.ThoughtEncrypted, Data: "gemini-3-pro|3|AbC+/=", CallID: "call_1"},
		{Format: llm.FormatAnthropic, Signature: "Er+/=", Kind: llm.ThoughtText},
		{Format: "groq", Kind: llm.ThoughtSummary, Signature: "é\n\""},
	} {
		signature := Seal(&want)
		got, ok := Unseal(signature)
		if !ok || !reflect.DeepEqual(got, want) || !Sealed(signature) {
			t.Errorf("%+v became %+v, %t: %s", want, got, ok, signature)
		}
		if strings.ContainsAny(signature, "\"\\ \n+/=") {
			t.Errorf("%q", signature)
		}
	}
}

// Conversations of clients are full of what was sealed before: the names inside stay.
func TestWhatWasSealedBeforeStaysReadable(t *testing.T) {
	for name, format := range map[string]llm.ThoughtFormat{
		"anthropic": llm.FormatAnthropic, "gemini": llm.FormatGemini, "openai": llm.FormatOpenAI, "groq": "groq", "": "",
	} {
		before := "mgw1." + base64.RawURLEncoding.EncodeToString([]byte(`{"p":"`+name+`","d":"x"}`))
		thought, ok := Unseal(before)
		if !ok || thought != (llm.Thought{Format: format, Data: "x"}) || Seal(&thought) != before {
			t.Errorf("%s: %+v, %t, %s", name, thought, ok, Seal(&thought))
		}
	}
}

func TestOtherSignaturesAreNotOurs(t *testing.T) {
	for _, text := range []string{
		"", "ErUBCkYIBRgCIkA=", "mgw1", "mgw1.", "mgw1.é", "mgw1.!!!!", "mgw1." + base64.RawURLEncoding.EncodeToString([]byte("[1]")),
		"mgw1." + base64.RawURLEncoding.EncodeToString([]byte(`{"p":1}`)), "mgw1." + base64.RawURLEncoding.EncodeToString([]byte(`{"p":"a"`)),
		"mgw1." + base64.RawURLEncoding.EncodeToString([]byte(`{"p":"a"}{}`)), "x" + Seal(&llm.Thought{}),
		"mgw1." + base64.RawURLEncoding.EncodeToString([]byte(`{"p":"a","p":"b"}`)),
	} {
		if got, ok := Unseal(text); ok {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	f.Add(Seal(&llm.Thought{Format: llm.FormatOpenAI, Data: "x"}))
	f.Add("mgw1.e30")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := Unseal(text)
		if !ok {
			return
		}
		got.Text = "" // only read
		if again, ok := Unseal(Seal(&got)); !ok || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}
