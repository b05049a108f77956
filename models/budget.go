package models

import (
	"cmp"
	"maps"
	"slices"

	"gorm.io/gorm"
)

// moveHolds takes off a replica's holds what the ledger now has as spent, in
// one order for all replicas. A hold that is gone needs nothing taken off.
func moveHolds(tx *gorm.DB, replica string, moved map[Hold]int64) error {
	holds := slices.SortedFunc(maps.Keys(moved), func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Since, b.Since))
	})
	for _, h := range holds {
		err := tx.Exec("UPDATE budget_holds SET amount = amount - ? WHERE account = ? AND since = ? AND replica = ?",
			moved[h], h.Account, h.Since, replica).Error
		if err != nil {
			return err
		}
	}
	return nil
}
