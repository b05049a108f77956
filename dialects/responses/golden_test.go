package responses

import (
	"fmt"
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
	return dialecttest.Dump(req, func(tool string) string { return fmt.Sprintf(", called as %+v,", req.Source.(*Request).as(tool)) })
}

func TestRequestsOfRealClients(t *testing.T) {
	dialecttest.Golden(t, 7, func(_ string, body []byte) string { return dump(decoded(t, string(body))) })
}
