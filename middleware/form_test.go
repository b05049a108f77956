package middleware

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/messages"
)

// The form of errors is that of the request's dialect, also of a panic in or before the
// handler.
func TestAPanicIsToldInTheDialectOfTheRequest(t *testing.T) {
	for _, at := range []string{"a guard", "the handler"} {
		url, _ := serve(t, func(m Chain) []gin.HandlerFunc {
			m.Dialect = func(*gin.Context) *api.Dialect { return messages.Dialect() }
			bomb := func(c *gin.Context) error { panic("boom") }
			if at == "a guard" {
				return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, func(*gin.Context) { panic("boom") }, m.Handle(bomb)}
			}
			return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, m.Bound, m.Handle(bomb)}
		})
		resp, body, err := request(t, url)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Type  string `json:"type"`
			Error struct {
				Type string `json:"type"`
			} `json:"error"`
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != "error" || e.Error.Type != "api_error" {
			t.Errorf("%s: %s", at, body)
		}
		h := resp.Header
		if resp.StatusCode != http.StatusInternalServerError || h.Get("X-Should-Retry") != "true" || e.ID == "" || h.Get("Request-Id") != e.ID ||
			h.Get("X-Request-Id") != e.ID {
			t.Errorf("%s: %d %s %v", at, resp.StatusCode, body, h)
		}
	}
}
