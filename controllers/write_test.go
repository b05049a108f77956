package controllers

import (
	"net/http"
	"testing"
	"time"

	"modelgateway/services/ratelimit"
)

func TestTokenHeadersHaveTheStatusOfTheLimit(t *testing.T) {
	header := http.Header{}
	setTokenHeaders(header, ratelimit.TokenStatus{})
	if len(header) != 0 {
		t.Errorf("%v", header)
	}
	setTokenHeaders(header, ratelimit.TokenStatus{Limit: 1000, Remaining: 7, Reset: 11*time.Second + 1})
	if header.Get("x-ratelimit-limit-tokens") != "1000" || header.Get("x-ratelimit-remaining-tokens") != "7" ||
		header.Get("x-ratelimit-reset-tokens") != "12s" ||
		len(header) != 3 {
		t.Errorf("%v", header)
	}
}
