package upstream

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"modelgateway/providers"
)

// callsAtOnce are how many calls of one attempt run at the same time.
const callsAtOnce = 4

// Batches makes the calls of an attempt that takes n of them, but those whose answers it has
// already. One that fails ends the others, and its error is returned. The first call is the one
// that the log and the trace have.
func Batches(ctx context.Context, n int, has func(i int) bool, call func(ctx context.Context, i int) error) error {
	if n == 1 {
		return call(ctx, 0)
	}
	return charged(callAll(ctx, n, has, call), n, has)
}

func callAll(ctx context.Context, n int, has func(i int) bool, call func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(callsAtOnce)
	noted := ctx
	for i := range n {
		if has(i) {
			continue
		}
		mine := noted
		noted = unnoted(ctx)
		all.Go(func() error { return call(mine, i) })
	}
	return all.Wait()
}

// charged is the error of an attempt. Providers charge for the calls that they have answered, which
// are lost where no other attempt follows.
func charged(err error, n int, has func(i int) bool) error {
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.Verdict() != providers.Terminal {
		return err
	}
	for i := range n {
		r.Worked = r.Worked || has(i)
	}
	return err
}
