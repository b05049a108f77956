package pool

import (
	"strconv"
	"time"

	"modelgateway/config"
	"modelgateway/models/api"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const (
	haiku  = "claude-haiku-4-5-20251001"
	sonnet = "claude-sonnet-4-5-20250929"
)

func poolOf(keys ...string) []config.Secret {
	var pool []config.Secret
	for _, k := range keys {
		pool = append(pool, config.NewSecret(k))
	}
	return pool
}

// providerFault is an error of a provider, with what is changed of it.
func providerFault(status int, change ...func(*api.Error)) *api.Error {
	e := &api.Error{Status: 502, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: "p", UpstreamStatus: status, Message: "status " + strconv.Itoa(status)}
	switch status {
	case 400, 404, 413, 422, 429:
		e.Status = status
	case 401, 402, 403:
		e.KeyRefused = true
	case 408, 504:
		e.Status = 504
	}
	for _, f := range change {
		f(e)
	}
	return e
}

func retryAfter(wait time.Duration) func(*api.Error) {
	return func(e *api.Error) { e.RetryAfter = wait }
}

func spent(e *api.Error) { e.Final, e.Spent = true, true }

// unreached is the error of an upstream that gave no answer at all.
func unreached(status int) *api.Error {
	return providerFault(0, func(e *api.Error) { e.Status = status })
}
