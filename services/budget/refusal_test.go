package budget

import (
	"errors"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/models"
)

func TestMoneyThatIsOnlyHeldIsRefusedWithARetry(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *testDatabase) {
		b := h.budgets(t)
		for _, account := range []string{"key:a", models.GatewayAccount} {
			of := budgetOf(account, dollar)
			refused := func(amount int64, status int, what, code string, retry bool) {
				t.Helper()
				_, err := b.Reserve(t.Context(), november, Need{Amount: amount}, of)
				e, _ := errors.AsType[*api.Error](err)
				if e == nil || e.Status != status || e.Type != what || e.Code != code || e.ShouldRetry() != retry || (e.RetryAfter > 0) != retry {
					t.Errorf("%d: %#v", amount, err)
				}
				if retry && !strings.Contains(e.Message, "try again in 1s") {
					t.Error(e.Message)
				}
			}
			live := mustReserve(t, b, 600_000, of)
			refused(600_000, 429, api.TypeRateLimit, api.CodeBudgetHeld, true)
			refused(dollar, 429, api.TypeRateLimit, api.CodeBudgetHeld, true)
			refused(dollar+1, 402, api.TypeBudget, api.CodeBudgetExceeded, false)
			h.pay(t, b, live, november, 500_000)
			refused(500_001, 402, api.TypeBudget, api.CodeBudgetExceeded, false)
			mustReserve(t, b, 500_000, of).Settle(0)
		}
	})
}
