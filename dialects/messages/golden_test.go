package messages

import (
	"strings"
	"testing"

	"modelgateway/dialects/dialecttest"
	"modelgateway/llm"
)

// decoded is a request whose decoding must succeed.
func decoded(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := Dialect{}.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return req
}

func dump(req *llm.Request) string {
	return dialecttest.Dump(req, func(string) string { return "" })
}

func TestRequestsOfRealClients(t *testing.T) {
	dialecttest.Golden(t, 10, func(file string, body []byte) string {
		decode := Dialect{}.Decode
		if strings.Contains(file, "count") {
			decode = Dialect{}.DecodeCount
		}
		req, err := decode(nil, body)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return dump(req)
	})
}
