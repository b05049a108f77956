package registry

import (
	"errors"
	"time"

	"modelgateway/models/api"
)

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func code(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}

const (
	haiku   = "claude-haiku-4-5-20251001"
	retired = "claude-sonnet-4-20250514"
)
