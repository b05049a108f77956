package archive

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// others are models of the other providers that the requests of an API are sent to: by each API of
// theirs, and with each way to tell a model how to think.
func others(api string) (path string, models []string) {
	if api == "messages" {
		return "/v1/messages", []string{"gpt-4.1", "gpt-5.1", "gpt-5.2", "gemini-2.5-flash", "gemini-3.5-flash"}
	}
	return "/v1/responses", []string{"claude-opus-4-8", "claude-haiku-4-5-20251001", "gemini-2.5-flash", "gemini-3.5-flash"}
}

// Every request of testdata/requests.in is sent to models of other providers, whole and streamed, which refuse
// what the providers refuse. Where something is left out it is named, and refused of a strict request.
func TestWhatOtherProvidersAreSentIsAsItWas(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	text, err := os.ReadFile("testdata/requests.in")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		api, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, members, ok := strings.Cut(rest, ": {")
		if !ok || api == "#" {
			continue
		}
		fmt.Fprintf(&b, "=== %s", line)
		path, models := others(api)
		for _, model := range models {
			sent := func(stream string, headers ...string) (upstream string, a gatewaytest.Answer) {
				a = p.Call(t, "POST", path, `{"model":"`+model+`"`+stream+`,`+members, headers...)
				for _, one := range r.Take() {
					upstream += "> " + one.Path + "\n" + plain(string(one.Body), line) + "\n"
				}
				if a.Status != 200 {
					upstream += fmt.Sprintf("< %d %s\n", a.Status, plain(a.Body))
				}
				return upstream, a
			}
			whole, a := sent("")
			streamed, _ := sent(`,"stream":true`)
			fmt.Fprintf(&b, "%s\n%sstreamed: %x\n", model, whole, sha256.Sum256([]byte(streamed)))
			if ignored := a.Header.Get("X-Gateway-Ignored-Params"); ignored != "" {
				strict, _ := sent("", "X-Gateway-Strict-Params", "true")
				fmt.Fprintf(&b, "ignored: %s\nstrict: %s", ignored, strict)
			}
		}
	}
	compare(t, "requests", b.String())
}
