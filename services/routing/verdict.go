package routing

import (
	"net/http"

	"modelgateway/models/api"
	"modelgateway/services/metrics"
	"modelgateway/services/pool"
)

// verdict is what an error means for the loop.
type verdict int

const (
	forGood    verdict = iota // nobody else is to be asked
	otherModel                // this one will not do, another may
	otherKey                  // this key will not do
	limited                   // this key has to wait
	anybody                   // the same may go well now
)

func verdictOf(err error) verdict {
	if !api.IsProviderError(err) {
		return forGood // the client has gone, or it is our own trouble
	}
	e := api.AsError(err)
	switch e.UpstreamStatus {
	case http.StatusTooManyRequests:
		if e.Spent {
			return forGood
		}
		return limited
	case http.StatusRequestTimeout, http.StatusConflict:
		return anybody
	}
	switch {
	case e.KeyRefused:
		return otherKey
	case e.UpstreamStatus == 0 && e.Status == http.StatusServiceUnavailable:
		return otherModel // not configured, or an open circuit
	case e.UpstreamStatus == 0, e.UpstreamStatus >= http.StatusInternalServerError:
		return anybody
	case e.UpstreamStatus == http.StatusNotFound, e.Status == http.StatusBadGateway && e.UpstreamStatus >= http.StatusMultipleChoices:
		return otherModel
	default:
		return forGood // the upstream has read the request, and does not want it
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return metrics.OK
	case pool.Gone(err):
		return metrics.Canceled
	case pool.Failed(err):
		return metrics.Failed
	default:
		return metrics.Refused
	}
}
