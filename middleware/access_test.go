package middleware

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/auth"
	"modelgateway/services/inflight"
)

// failing is the log of a request whose handler fails with this error.
func failing(t *testing.T, status int, err error) string {
	t.Helper()
	url, log := serve(t, func(m Chain) []gin.HandlerFunc {
		return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, m.Handle(func(*gin.Context) error { return err })}
	})
	if resp, body, err := request(t, url); err != nil || resp.StatusCode != status {
		t.Fatalf("%v %s, want %d", err, body, status)
	}
	return log.String()
}

func TestTheAccessLogSaysWhyThereIsNoCapacity(t *testing.T) {
	full := inflight.New(0, 1, 1)
	_, err := full.Acquire(auth.Caller{})
	log := failing(t, http.StatusServiceUnavailable, err)
	if !strings.Contains(log, `"code":"service_unavailable","message":"the gateway is at its capacity: try again in `) ||
		strings.Contains(log, "request failed") {
		t.Errorf("the log: %s", log)
	}
}

func TestAFailureHasALineOfItsOwn(t *testing.T) {
	for _, tt := range []struct {
		status int
		err    error
		cause  string
	}{
		{http.StatusServiceUnavailable, api.Unavailable(errors.New("no database")), "no database"},
		{http.StatusInternalServerError, errors.New("a fault"), "a fault"},
		{http.StatusInternalServerError, api.Internal(nil), "internal_error"},
		{http.StatusBadGateway, &api.Error{Status: 502, Code: api.CodeProviderError, Message: "the provider says"}, "the provider says"},
	} {
		log := failing(t, tt.status, tt.err)
		failed, access, _ := strings.Cut(log, `"msg":"request"`)
		if !strings.Contains(failed, `"msg":"request failed"`) || !strings.Contains(failed, tt.cause) ||
			strings.Contains(access, `"message"`) {
			t.Errorf("%v: the log: %s", tt.err, log)
		}
	}
}
