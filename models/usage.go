package models

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// Spend is what an account has spent, in micro-dollars: since ever, and in the
// windows that now lies in.
type Spend struct {
	Total, Day, Week, Month int64
}

// KeySpend is what keys have spent, by id. A key that has spent nothing is not
// in it.
func (s *Store) KeySpend(ctx context.Context, keyIDs []string, now time.Time) (map[string]Spend, error) {
	accounts := make([]string, len(keyIDs))
	for i, id := range keyIDs {
		accounts[i] = AccountOfKey(id)
	}
	const sums = `account, SUM(cost) AS total, SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS day,
		SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS week, SUM(CASE WHEN day >= ? THEN cost ELSE 0 END) AS month`
	var rows []struct {
		Account string
		Spend   `gorm:"embedded"`
	}
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Table("spend").Select(sums, Day.Since(now), Week.Since(now), Month.Since(now)).
			Where("account IN ?", accounts).Group("account").Find(&rows).Error
	})
	spent := make(map[string]Spend, len(rows))
	for _, row := range rows {
		spent[row.Account[len(AccountOfKey("")):]] = row.Spend
	}
	return spent, err
}
