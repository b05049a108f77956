package pool

import (
	"strconv"
	"time"

	"modelgateway/config"
	"modelgateway/providers"
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

// providerFault is a provider's refusal with some fields changed.
func providerFault(status int, change ...func(*providers.Refusal)) *providers.Refusal {
	r := &providers.Refusal{Provider: "p", Status: status, Message: "status " + strconv.Itoa(status)}
	for _, f := range change {
		f(r)
	}
	return r
}

func retryAfter(wait time.Duration) func(*providers.Refusal) {
	return func(r *providers.Refusal) { r.RetryAfter = wait }
}

func spent(r *providers.Refusal) { r.Final, r.Spent = true, true }

// unreached is the error of an upstream that did not answer.
func unreached(status int) *providers.Refusal {
	return providerFault(0, func(r *providers.Refusal) { r.Told = status })
}
