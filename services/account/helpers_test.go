package account

import (
	"errors"
	"time"

	"modelgateway/api"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func code(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}
