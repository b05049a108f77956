package responses

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"modelgateway/tests/gatewaytest"
)

// exchange is a call of OpenAI's SDK.
type exchange struct {
	response *sdk.Response
	header   http.Header
	err      error
}

// made sends a body with the SDK, and reads the answer as the SDK does.
func made(t testing.TB, p *gatewaytest.Program, text string, streamed bool, opts ...option.RequestOption) (x exchange) {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(p.URL+"/v1/"), option.WithAPIKey("sk-dummy"), option.WithMaxRetries(0), option.WithHTTPClient(p.Client))
	var response *http.Response
	if streamed {
		text = strings.TrimSuffix(text, "}") + `,"stream":true}`
	}
	opts = append(opts, option.WithResponseInto(&response), option.WithRequestBody("application/json", []byte(text)))
	if !streamed {
		x.response, x.err = c.Responses.New(t.Context(), sdk.ResponseNewParams{}, opts...)
	} else {
		stream := c.Responses.NewStreaming(t.Context(), sdk.ResponseNewParams{}, opts...)
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.completed" {
				x.response = &e.Response
			}
		}
		if x.err = stream.Err(); x.err == nil && x.response == nil {
			t.Error("the stream ended without response.completed")
		}
		_ = stream.Close()
	}
	if response != nil {
		x.header = response.Header
	}
	return x
}
