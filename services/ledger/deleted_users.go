package ledger

import (
	"context"
	"fmt"

	"modelgateway/api"
	"modelgateway/models"
)

// userName are the fields of a row that name its user.
type userName struct {
	id        string
	email     *string
	deletedAt *int64
}

// nameDeleted names the users of n rows who were deleted and not erased, for administrators.
func nameDeleted(ctx context.Context, store *models.Store, n int, name func(i int) userName) error {
	var ids []string
	for i := range n {
		if u := name(i); u.id != "" && *u.email == "" {
			ids = append(ids, u.id)
		}
	}
	deleted, err := store.DeletedUsers(ctx, ids)
	if err != nil {
		return api.Unavailable(fmt.Errorf("look up deleted users: %w", err))
	}
	for i := range n {
		u := name(i)
		if former, ok := deleted[u.id]; ok && *u.email == "" {
			*u.email, *u.deletedAt = former.Email, former.DeletedAt
		}
	}
	return nil
}
