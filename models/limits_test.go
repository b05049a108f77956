package models_test

import (
	"slices"
	"testing"
	"time"

	"modelgateway/models"
)

func TestWindowsBeginAndEndAtMidnightUTC(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	utc := func(y int, m time.Month, d, h, min int) time.Time { return time.Date(y, m, d, h, min, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name   string
		window models.Window
		at     time.Time
		since  string
		ends   string
	}{
		{"day", models.Day, utc(2026, 11, 21, 12, 0), "2026-11-21", "2026-11-22"},
		{"first moment", models.Day, utc(2026, 11, 21, 0, 0), "2026-11-21", "2026-11-22"},
		{"last moment", models.Day, utc(2026, 11, 22, 0, 0).Add(-1), "2026-11-21", "2026-11-22"},
		{"evening in New York, the next day in UTC", models.Day, time.Date(2026, 11, 21, 20, 0, 0, 0, newYork), "2026-11-22", "2026-11-23"},
		{"clocks go forward", models.Day, time.Date(2026, 3, 8, 2, 30, 0, 0, newYork), "2026-03-08", "2026-03-09"},
		{"clocks go back", models.Day, time.Date(2026, 11, 1, 1, 30, 0, 0, newYork), "2026-11-01", "2026-11-02"},
		{"a month with a change of clocks", models.Month, time.Date(2026, 11, 30, 18, 59, 0, 0, newYork), "2026-11-01", "2026-12-01"},
		{"the same an hour later", models.Month, time.Date(2026, 11, 30, 19, 0, 0, 0, newYork), "2026-12-01", "2027-01-01"},
		{"29 Feb", models.Day, utc(2028, 2, 29, 5, 0), "2028-02-29", "2028-03-01"},
		{"28 Feb of a short year", models.Day, utc(2027, 2, 28, 5, 0), "2027-02-28", "2027-03-01"},
		{"2100 is short", models.Month, utc(2100, 2, 28, 23, 59), "2100-02-01", "2100-03-01"},
		{"February with 29", models.Month, utc(2028, 2, 29, 23, 59), "2028-02-01", "2028-03-01"},
		{"the 31st", models.Month, utc(2026, 1, 31, 0, 0), "2026-01-01", "2026-02-01"},
		{"year end", models.Month, utc(2026, 12, 31, 23, 59), "2026-12-01", "2027-01-01"},
		{"Monday", models.Week, utc(2026, 11, 16, 0, 0), "2026-11-16", "2026-11-23"},
		{"Sunday", models.Week, utc(2026, 11, 22, 23, 59), "2026-11-16", "2026-11-23"},
		{"a week over new year", models.Week, utc(2027, 1, 1, 0, 0), "2026-12-28", "2027-01-04"},
		{"a week over 29 Feb", models.Week, utc(2028, 3, 1, 0, 0), "2028-02-28", "2028-03-06"},
		{"week and year begin together", models.Week, utc(2029, 1, 1, 0, 0), "2029-01-01", "2029-01-08"},
	} {
		if got := tt.window.FirstDay(tt.at); got != tt.since {
			t.Errorf("%s: since %s", tt.name, got)
		}
		end := tt.window.End(tt.at)
		if got := end.Format(time.RFC3339); got != tt.ends+"T00:00:00Z" {
			t.Errorf("%s: ends %s", tt.name, got)
		}
		if tt.window.FirstDay(end) != tt.ends || tt.window.FirstDay(end.Add(-1)) != tt.since {
			t.Errorf("%s: the next window does not begin where it ends", tt.name)
		}
	}
}

func TestTheTotalWindowHasNoBounds(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)} {
		if s, e := models.Total.FirstDay(at), models.Total.End(at); s != "" || !e.IsZero() {
			t.Errorf("%s to %s", s, e)
		}
	}
	if w := models.Windows(); !slices.Equal(w, []models.Window{models.Day, models.Week, models.Month, models.Total}) {
		t.Error(w)
	}
}

func TestTheDayOfTheLedgerIsUTC(t *testing.T) {
	east := time.FixedZone("", 14*60*60)
	if d := models.DayOf(time.Date(2028, 3, 1, 13, 59, 0, 0, east)); d != "2028-02-29" {
		t.Error(d)
	}
	if d := models.DayOf(time.Date(2028, 3, 1, 14, 0, 0, 0, east)); d != "2028-03-01" {
		t.Error(d)
	}
}
