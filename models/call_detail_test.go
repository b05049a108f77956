package models_test

import (
	"reflect"
	"strings"
	"testing"

	"modelgateway/models"
)

func TestDetailsOfACallAreReadAsTheyWereWritten(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		details := models.CallDetail{
			Attempts: []models.CallAttempt{
				{Provider: "openai", Model: "a", Key: "wxyz", StartUS: 5, TookUS: 7, Status: 503, Code: "overloaded", Result: models.AttemptFailed},
				{Provider: "gemini", Model: "b", StartUS: 12, FirstUS: 3, TookUS: 9, Status: 200, Result: models.AttemptServed},
			},
			Ignored: []string{"seed", "logit_bias"},
			Costs:   []models.CallCost{{What: "input", Amount: 5, Unit: "token", PerMillion: 1_000_000, Cost: 5}},
		}
		one, long, none := call("a", "k", noon), call("b", "k", noon), call("c", "k", noon)
		one.Detail, long.Detail, none.Detail = "", "", ""
		copied := details
		one.Details = &copied
		long.Details = &models.CallDetail{Attempts: make([]models.CallAttempt, 99), Ignored: []string{strings.Repeat("é", 99), "a\x00\xffb"}}
		long.UserAgent = strings.Repeat("x", 999)
		for _, c := range []*models.Call{&one, &long, &none} {
			c.Clean()
		}
		write(t, store, one, long, none)
		read := func(id string) *models.NamedCall {
			got, err := store.Call(t.Context(), models.CallFilter{}, id)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := read(one.ID).Details; !reflect.DeepEqual(*got, details) {
			t.Errorf("%+v\nnot\n%+v", got, details)
		}
		if got := read(none.ID); got.Detail != "" || !reflect.DeepEqual(*got.Details, models.CallDetail{}) {
			t.Errorf("%q %+v", got.Detail, got.Details)
		}
		got := read(long.ID)
		if n, name := len(got.Details.Attempts), got.Details.Ignored[0]; n != 20 || name != strings.Repeat("é", 32) || got.Details.Ignored[1] != "ab" {
			t.Errorf("%d attempts, ignored %q", n, got.Details.Ignored)
		}
		if len(got.UserAgent) != 120 {
			t.Errorf("a user agent of %d bytes", len(got.UserAgent))
		}
	})
}
