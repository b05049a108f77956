package models

import (
	"testing"
	"time"
)

func TestStatementTimeoutOfTheAddressBoundsAQuery(t *testing.T) {
	const server = "postgres://u:p@127.0.0.1:1/d"
	for address, want := range map[string]time.Duration{
		server:                              queryTimeout,
		server + "?sslmode=disable":         queryTimeout,
		server + "?statement_timeout=30000": 30 * time.Second,
		server + "?statement_timeout=10s&sslmode=none": 10 * time.Second,
		server + "?statement_timeout=500ms":            500 * time.Millisecond,
		server + "?statement_timeout=0":                queryTimeout, // PostgreSQL's word for no bound
		server + "?statement_timeout=soon":             queryTimeout,
	} {
		if got := statementTimeout(address); got != want {
			t.Errorf("%s: %s, not %s", address, got, want)
		}
	}
}
