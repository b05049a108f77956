package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func usageOf(h *storetest.Database) *Usage {
	return NewUsage(h.Store, func() time.Time {
		return time.Date(2026, 11, 22, 3, 0, 0, 0, time.FixedZone("east", 9*3600)) // the 21st in UTC
	})
}

func TestUsageOfAllCallersIsFiltered(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		u := usageOf(h)
		var calls []models.Call
		for i, of := range [][3]string{{"ada", "k1", "m1"}, {"ada", "k1", "m2"}, {"ada", "k2", "m1"}, {"bob", "k3", "m1"}, {"", "", "m1"}} {
			call := ledgerCall(of[2])
			call.UserID, call.KeyID, call.BeganAt, call.Cost = of[0], of[1], u.now().UnixMicro(), int64(1)<<i
			calls = append(calls, call)
		}
		if err := h.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			ask  UsageRequest
			rows int
			cost int64
		}{
			{UsageRequest{}, 1, 31},
			{UsageRequest{GroupBy: "user"}, 3, 31},
			{UsageRequest{GroupBy: "user,key,model,day"}, 5, 31},
			{UsageRequest{GroupBy: "key", UserID: "ada"}, 2, 7},
			{UsageRequest{KeyID: "k1"}, 1, 3},
			{UsageRequest{Model: "m1", GroupBy: "user"}, 3, 29},
			{UsageRequest{UserID: "ada", Model: "m1", KeyID: "k2"}, 1, 4},
			{UsageRequest{UserID: "bob", KeyID: "k1"}, 0, 0},
			{UsageRequest{To: "2026-11-20"}, 0, 0},
			{UsageRequest{From: "2026-11-21"}, 1, 31},
		} {
			report, err := u.All(t.Context(), tt.ask)
			if err != nil || len(report.Rows) != tt.rows || report.Total.Cost != tt.cost {
				t.Errorf("%+v: %+v, %v", tt.ask, report, err)
			}
		}
		report, err := u.All(t.Context(), UsageRequest{GroupBy: "model,user"})
		if err != nil || len(report.Rows) != 4 {
			t.Fatalf("%+v, %v", report, err)
		}
		for i, want := range [][2]string{{"", "m1"}, {"ada", "m1"}, {"ada", "m2"}, {"bob", "m1"}} {
			if row := report.Rows[i]; row.UserID != want[0] || row.Model != want[1] {
				t.Errorf("row %d: %+v", i, row)
			}
		}
		own, err := u.Own(t.Context(), "ada", "k1", UsageRequest{UserID: "bob"})
		if err != nil || own.Total.Cost != 3 || own.From != "2026-10-23" || own.To != "2026-11-21" {
			t.Errorf("%+v, %v", own, err)
		}
		if _, err := u.Own(t.Context(), "ada", "k1", UsageRequest{KeyID: "k2"}); code(err) != api.CodeInvalidValue {
			t.Errorf("a key asks for the calls of another: %v", err)
		}
		if own, err := u.Own(t.Context(), "ada", "", UsageRequest{KeyID: "k3"}); err != nil || own.Total.Calls != 0 {
			t.Errorf("%+v, %v", own, err)
		}
		if own, err := u.Own(t.Context(), "ada", "", UsageRequest{KeyID: "k1", Model: "m2"}); err != nil || own.Total.Cost != 2 {
			t.Errorf("%+v, %v", own, err)
		}
		if own, err := u.Own(t.Context(), "ada", "", UsageRequest{}); err != nil || own.Total.Cost != 7 {
			t.Errorf("%+v, %v", own, err)
		}
		if _, err := u.Own(t.Context(), "", "", UsageRequest{}); code(err) != api.CodeMissingCredentials {
			t.Errorf("%v", err)
		}
		for _, bad := range []UsageRequest{{UserID: "a\x00"}, {KeyID: "\xff"}, {Model: strings.Repeat("m", 257)}, {GroupBy: "colour"}} {
			if _, err := u.All(t.Context(), bad); code(err) != api.CodeInvalidValue {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		if _, err := u.All(t.Context(), UsageRequest{Model: strings.Repeat("m", 256)}); err != nil {
			t.Error(err)
		}
	})
}

func TestTooManyGroupsAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		u := usageOf(h)
		if u.groups != 10_000 {
			t.Errorf("%d groups", u.groups)
		}
		u.groups = 100 // thousands take seconds under the race detector
		calls := make([]models.Call, 101)
		for i := range calls {
			calls[i] = ledgerCall(fmt.Sprint("m", min(i, 99)))
			calls[i].UserID, calls[i].Cost, calls[i].BeganAt = "ada", 1, u.now().UnixMicro()
		}
		calls[100].UserID = "bob"
		if err := h.Store.WriteCalls(t.Context(), "r", calls[:100]); err != nil {
			t.Fatal(err)
		}
		report, err := u.All(t.Context(), UsageRequest{GroupBy: "model"})
		if err != nil || len(report.Rows) != 100 || report.Total.Cost != 100 {
			t.Fatalf("%v", err)
		}
		calls[100].Model = "other"
		if err := h.Store.WriteCalls(t.Context(), "r", calls[100:]); err != nil {
			t.Fatal(err)
		}
		_, err = u.All(t.Context(), UsageRequest{GroupBy: "model"})
		if e := api.AsError(err); e.Status != 400 || e.Param != "group_by" ||
			!strings.Contains(e.Message, "more than 100 groups: group by less") {
			t.Errorf("%v", err)
		}
		if report, err := u.All(t.Context(), UsageRequest{GroupBy: "user"}); err != nil || len(report.Rows) != 2 {
			t.Errorf("%v", err)
		}
	})
}
