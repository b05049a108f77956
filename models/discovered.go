package models

import (
	"context"

	"gorm.io/gorm"
)

// DiscoveredModel is a model that a provider has listed. Numbers are 0 where the provider
// does not say.
type DiscoveredModel struct {
	Provider  string
	ID        string
	Kind      string
	Created   int64 // Unix seconds
	Context   int64 // tokens
	MaxOutput int64 // tokens
}

// DiscoveredModels are the models that a provider listed last, by id.
func (s *Store) DiscoveredModels(ctx context.Context, provider string) ([]DiscoveredModel, error) {
	var all []DiscoveredModel
	err := s.run(ctx, func(db *gorm.DB) error { return db.Where("provider = ?", provider).Order("id").Find(&all).Error })
	return all, err
}

// SaveDiscoveredModels replaces the models of a provider, in one transaction.
func (s *Store) SaveDiscoveredModels(ctx context.Context, provider string, all []DiscoveredModel) error {
	const perStatement = 500
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// Replicas that start together list at the same time.
		if err := s.advisoryLock(tx, "discovered_models"); err != nil {
			return err
		}
		if err := tx.Where("provider = ?", provider).Delete(&DiscoveredModel{}).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(all, perStatement).Error
	})
}
