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
		{Provider: "openai", Model: "gpt-6-sol", Kind: llm.ThoughtEncrypted, ItemID: "rs_1", Data: "gAAAA=="},
		{Provider: "gemini", Kind: llm.ThoughtEncrypted, Data: "gemini-3-pro|3|AbC+/=", CallID: "call_1"},
		{Provider: "anthropic", Signature: "Er+/=", Kind: llm.ThoughtText},
		{Provider: "groq", Kind: llm.ThoughtSummary, Signature: "é\n\""},
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
	f.Add(Seal(&llm.Thought{Provider: "openai", Data: "x"}))
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
