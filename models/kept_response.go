package models

import (
	"context"
	"maps"

	"gorm.io/gorm"
)

// KeptResponse is a response that the gateway keeps with the request that it answers. Times
// are Unix microseconds.
type KeptResponse struct {
	ID        string
	Owner     string
	TeamID    string // of the key that it was made with; empty = none
	Previous  string // the response that it goes on from; empty = none
	Sealed    []byte
	Size      int64 // of Sealed, in bytes
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	ExpiresAt int64
}

// KeptFor is who asks for responses of an owner.
type KeptFor struct {
	Owner  string
	TeamID string // of the key that asks: it opens what was made with keys of the same team, or of none
	All    bool   // the owner, logged in: opens what was made with any of their keys
}

// opens is the condition for the rows that may be opened.
const opens = "owner = @owner AND (@all OR team_id = @team)"

func (f *KeptFor) args(more map[string]any) map[string]any {
	args := map[string]any{"owner": f.Owner, "team": f.TeamID, "all": f.All}
	maps.Copy(args, more)
	return args
}

// KeptBounds bound what one owner may keep.
type KeptBounds struct {
	Responses int
	Bytes     int64
}

// keptItem is a row of the items of responses.
type keptItem struct{ ID, ResponseID string }

// TableName is the name of the table.
func (keptItem) TableName() string { return "kept_items" }

// KeepResponse adds a response with the ids of the items of its output, and erases the oldest
// ones of its owner beyond the bounds.
func (s *Store) KeepResponse(ctx context.Context, r *KeptResponse, items []string, most KeptBounds) error {
	rows := make([]keptItem, len(items))
	for i, id := range items {
		rows[i] = keptItem{id, r.ID}
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(r).Error; err != nil {
			return err
		}
		if len(rows) > 0 {
			if err := tx.CreateInBatches(rows, idsPerStatement).Error; err != nil {
				return err
			}
		}
		return tx.Exec(`DELETE FROM kept_responses WHERE id IN (SELECT id FROM (
			SELECT id, ROW_NUMBER() OVER newest AS nth, SUM(size) OVER newest AS bytes FROM kept_responses WHERE owner = ?
			WINDOW newest AS (ORDER BY created_at DESC, id)) AS own WHERE nth > ? OR bytes > ?)`,
			r.Owner, most.Responses, most.Bytes).Error
	})
}

// KeptResponse is an owner's response that has not expired, or ErrNotFound.
func (s *Store) KeptResponse(ctx context.Context, by KeptFor, id string, now int64) (*KeptResponse, error) {
	var r KeptResponse
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Where(opens+" AND id = @id AND expires_at > @now", by.args(map[string]any{"id": id, "now": now})).Take(&r).Error
	})
	return &r, err
}

// KeptConversation are a response and those that it goes on from, the first one first.
// ErrNotFound when one of them is not kept any more, and ErrTooMany when they are more than
// the bounds.
func (s *Store) KeptConversation(ctx context.Context, by KeptFor, id string, now int64, most KeptBounds) ([]KeptResponse, error) {
	const query = `WITH RECURSIVE turns (id, previous, size, depth) AS (
		SELECT id, previous, size, 1 FROM kept_responses WHERE id = @id AND ` + opens + ` AND expires_at > @now
		UNION ALL
		SELECT r.id, r.previous, r.size, depth + 1 FROM kept_responses r JOIN turns ON r.id = turns.previous
		WHERE ` + opens + ` AND r.expires_at > @now AND depth <= @most
	) SELECT id, previous, size FROM turns ORDER BY depth DESC`
	var turns []KeptResponse
	err := s.run(ctx, func(db *gorm.DB) error {
		err := db.Raw(query, by.args(map[string]any{"id": id, "now": now, "most": most.Responses})).Scan(&turns).Error
		if err != nil {
			return err
		}
		if len(turns) > most.Responses {
			return ErrTooMany
		}
		if len(turns) == 0 || turns[0].Previous != "" {
			return ErrNotFound
		}
		return loadKept(db, turns, most)
	})
	return turns, err
}

// KeptOfItems are an owner's responses that have one of these items, in no order.
func (s *Store) KeptOfItems(ctx context.Context, by KeptFor, items []string, now int64, most KeptBounds) ([]KeptResponse, error) {
	var turns []KeptResponse
	err := s.run(ctx, func(db *gorm.DB) error {
		for len(items) > 0 {
			n := min(len(items), idsPerStatement)
			var some []KeptResponse
			err := db.Model(&KeptResponse{}).Select("id, previous, size").
				Where(opens+" AND expires_at > @now", by.args(map[string]any{"now": now})).
				Where("id IN (SELECT response_id FROM kept_items WHERE id IN ?)", items[:n]).Scan(&some).Error
			if err != nil {
				return err
			}
			turns, items = append(turns, some...), items[n:]
		}
		return loadKept(db, turns, most)
	})
	return turns, err
}

// loadKept loads what is sealed in responses.
func loadKept(db *gorm.DB, turns []KeptResponse, most KeptBounds) error {
	at, ids, bytes := map[string][]int{}, []string{}, int64(0)
	for i := range turns {
		if at[turns[i].ID] == nil {
			ids = append(ids, turns[i].ID)
			bytes += turns[i].Size
		}
		at[turns[i].ID] = append(at[turns[i].ID], i)
	}
	if bytes > most.Bytes {
		return ErrTooMany
	}
	for len(ids) > 0 {
		n := min(len(ids), idsPerStatement)
		var rows []KeptResponse
		if err := db.Select("id, owner, sealed").Where("id IN ?", ids[:n]).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) < n {
			return ErrNotFound // erased meanwhile
		}
		for i := range rows {
			for _, to := range at[rows[i].ID] {
				turns[to].Owner, turns[to].Sealed = rows[i].Owner, rows[i].Sealed
			}
		}
		ids = ids[n:]
	}
	return nil
}

// DeleteKeptResponse erases an owner's response; ErrNotFound when there is none that has not
// expired.
func (s *Store) DeleteKeptResponse(ctx context.Context, by KeptFor, id string, now int64) error {
	return s.run(ctx, func(db *gorm.DB) error {
		done := db.Where(opens+" AND id = @id AND expires_at > @now", by.args(map[string]any{"id": id, "now": now})).Delete(&KeptResponse{})
		if done.Error == nil && done.RowsAffected == 0 {
			return ErrNotFound
		}
		return done.Error
	})
}

// DeleteExpiredResponses erases at most limit responses that have expired, and returns how
// many it has erased.
func (s *Store) DeleteExpiredResponses(ctx context.Context, now int64, limit int) (int64, error) {
	var n int64
	err := s.run(ctx, func(db *gorm.DB) error {
		done := db.Exec("DELETE FROM kept_responses WHERE id IN (SELECT id FROM kept_responses WHERE expires_at <= ? LIMIT ?)", now, limit)
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}

// forgetOwners erases all responses of owners.
func forgetOwners(tx *gorm.DB, owners ...string) error {
	if len(owners) == 0 {
		return nil
	}
	return tx.Where("owner IN ?", owners).Delete(&KeptResponse{}).Error
}
