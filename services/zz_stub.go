package services

import (
	"context"
	"log/slog"
	"modelgateway/models"
	"time"
)

type Budget struct {
	Account string
	Window  models.Window
	Limit   int64
	Name    string
}
type Budgets struct{}
type Reservation struct{}

func (b *Budgets) Reserve(ctx context.Context, at time.Time, amount int64, of ...Budget) (*Reservation, error) {
	return nil, nil
}
func (r *Reservation) Holds() (h [2]models.Hold) { return }
func (r *Reservation) Settle(int64)              {}

type BudgetOptions struct {
	Store *models.Store
	Log   *slog.Logger
	Now   func() time.Time
}

func NewBudgets(BudgetOptions) *Budgets                { return &Budgets{} }
func (b *Budgets) Replica() string                     { return "r" }
func (b *Budgets) Run(ctx context.Context)             { <-ctx.Done() }
func (b *Budgets) Written(moved map[models.Hold]int64) {}
