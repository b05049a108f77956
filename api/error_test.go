package api

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestErrorsHaveOneShape(t *testing.T) {
	for _, e := range []*Error{
		Invalid(CodeInvalidValue, "a.b", "no"),
		{Status: 502, Type: TypeAPI, Code: CodeProviderError, Message: "x", Provider: "openai", UpstreamStatus: 500},
		Internal(errors.New("secret cause")),
	} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Error map[string]any `json:"error"`
		}
		if err := json.Unmarshal(text, &body); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"type", "message", "code", "param"} {
			if _, ok := body.Error[key]; !ok {
				t.Errorf("%s lacks %s", text, key)
			}
		}
		if strings.Contains(string(text), "secret cause") {
			t.Errorf("the cause is public: %s", text)
		}
	}
}

func TestShouldRetryTellsWhatMayPassLater(t *testing.T) {
	for status, want := range map[int]bool{400: false, 401: false, 402: false, 404: false, 413: false, 422: false, 429: true, 500: true,
		502: true, 503: true, 504: true} {
		if got := (&Error{Status: status}).ShouldRetry(); got != want {
			t.Errorf("%d: %v", status, got)
		}
	}
	if (&Error{Status: 429, Final: true}).ShouldRetry() || (&Error{Status: 429, RetryAfter: 2 * longestWait}).ShouldRetry() {
		t.Error("a spent quota or a wait beyond what SDKs honour")
	}
	if s := (&Error{RetryAfter: 1}).RetryAfterSeconds(); s != 1 {
		t.Errorf("a nanosecond became %d s", s)
	}
}

func TestAsErrorKeepsAnError(t *testing.T) {
	if !reflect.DeepEqual(AsError(Invalid("a", "b", "c")), Invalid("a", "b", "c")) {
		t.Error("AsError changes an Error")
	}
}
