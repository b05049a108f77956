package models

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// insertRows uses the connection directly, not the pool's transaction: a row
// that it wrote after the end of the transaction would be committed by itself.
func TestNoRowIsWrittenAfterItsTransactionHasEnded(t *testing.T) {
	for name, address := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "gateway.db") },
		"postgres": func() string { return servertest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := Open(address())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			if err := store.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			err = store.inConnTx(ctx, func(on connTx) error {
				cancel()
				pool := on.tx.Statement.ConnPool
				for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
					_, err := pool.ExecContext(context.WithoutCancel(ctx), "SELECT 1")
					if errors.Is(err, sql.ErrTxDone) {
						break
					}
					if time.Now().After(end) {
						t.Fatal("the transaction does not end")
					}
				}
				if err := insertRows(on, []Call{{ID: "call_1"}}, []int64{1}, make([]rowNames, 1)); err == nil {
					t.Error("a row was written")
				}
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			var calls []ledgerRow
			if err := store.db.WithContext(t.Context()).Find(&calls).Error; err != nil || len(calls) != 0 {
				t.Errorf("%d rows outside of a transaction, %v", len(calls), err)
			}
		})
	}
}

// database/sql rolls a transaction back and closes its connection at any moment after
// the end of its context, also while the connection is about to be used.
func TestAConnectionThatIsClosedAtItsUseIsAnError(t *testing.T) {
	t.Parallel()
	store, err := Open(servertest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		err := store.inConnTx(ctx, func(on connTx) error {
			go cancel()
			for {
				if err := on.raw(func(any) error { return nil }); err != nil {
					return err
				}
			}
		})
		if !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
