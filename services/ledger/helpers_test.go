package ledger

import (
	"errors"
	"time"

	"modelgateway/api"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func code(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}
