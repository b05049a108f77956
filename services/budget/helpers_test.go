package budget

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
