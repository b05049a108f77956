package routing

import "time"

// As package pool has them.
const (
	circuitCalls  = 10
	circuitPause  = 10 * time.Second
	circuitWindow = time.Minute
	fewRetries    = 10
)
