package budget

import (
	"errors"
	"time"

	"modelgateway/api"
)

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// isRefused says whether a call was refused because a budget is spent or held.
func isRefused(err error) bool {
	return code(err) == api.CodeBudgetExceeded || code(err) == api.CodeBudgetHeld
}

func code(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}
