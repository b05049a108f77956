package ledger

import (
	"strings"
	"testing"
	"time"

	"modelgateway/api"
)

// stepZones change their clocks at midnight, by half an hour, or left out a day.
func stepZones(t *testing.T) (all []*time.Location) {
	t.Helper()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/Havana", "Asia/Beirut", "Africa/Cairo", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe",
		"Asia/Kathmandu", "America/St_Johns", "America/Asuncion", "Pacific/Chatham", "Asia/Tehran", "Africa/Casablanca", "Asia/Gaza",
	} {
		loc, err := parseZone(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, loc)
	}
	return all
}

func TestADayBeginsAtItsFirstMoment(t *testing.T) {
	for _, loc := range stepZones(t) {
		for at := time.Date(2010, 1, 1, 12, 0, 0, 0, loc); at.Year() < 2027; at = at.AddDate(0, 0, 1) {
			y, m, d := at.Date()
			begin := midnight(y, m, d, loc)
			if begin.Day() != d || begin.Add(-time.Second).Day() == d {
				t.Fatalf("%s begins at %s", at.Format(time.DateOnly), begin)
			}
		}
	}
}

func TestStepsFollowEachOtherAndHaveTheirBeginning(t *testing.T) {
	for _, loc := range stepZones(t) {
		for _, s := range allSteps() {
			for _, from := range []time.Time{
				time.Date(2011, 12, 27, 5, 20, 0, 0, loc), time.Date(2026, 3, 25, 13, 7, 0, 0, loc), time.Date(2026, 10, 23, 22, 50, 0, 0, loc),
			} {
				begin := s.floor(from)
				if begin.After(from) {
					t.Fatalf("%s %s: %s begins at %s", loc, s.name, from, begin)
				}
				for range 300 {
					next := s.next(begin)
					if !next.After(begin) || s.length > 0 && next.Sub(begin) > s.length {
						t.Fatalf("%s %s: after %s comes %s", loc, s.name, begin, next)
					}
					for _, at := range []time.Time{begin, begin.Add(next.Sub(begin) / 2), next.Add(-time.Second)} {
						if !s.floor(at).Equal(begin) {
							t.Fatalf("%s %s: %s begins at %s, not at %s", loc, s.name, at, s.floor(at), begin)
						}
					}
					if begin.Unix()%(15*60) != 0 && s.length >= 15*time.Minute {
						t.Fatalf("%s %s: %s is not at a quarter hour", loc, s.name, begin)
					}
					begin = next
				}
			}
		}
	}
}

func TestPeriodsAreWidenedToWholeSteps(t *testing.T) {
	now := time.Date(2026, 11, 18, 14, 7, 23, 0, time.UTC) // a Wednesday
	for _, tt := range []struct {
		ask            UsageRequest
		from, to       string
		before, until  string // the period before, and the end of what is counted of it
		steps, earlier int
	}{
		{
			UsageRequest{From: "2026-11-18T13:07:23Z", Step: "1m"},
			"2026-11-18T13:07:00Z", "2026-11-18T14:08:00Z", "2026-11-18T12:06:00Z", "2026-11-18T13:06:23Z", 61, 61,
		},
		{
			UsageRequest{From: "2026-11-17T14:07:23Z", Step: "30m", TimeZone: "Asia/Kolkata"},
			"2026-11-17T14:00:00Z", "2026-11-18T14:30:00Z", "2026-11-16T13:30:00Z", "2026-11-17T13:37:23Z", 49, 49,
		},
		{UsageRequest{From: "2026-11-12", Step: "2h"}, "2026-11-12", "2026-11-18", "2026-11-05", "2026-11-11T14:07:23Z", 84, 84},
		{UsageRequest{Step: "1d", TimeZone: "Europe/Berlin"}, "2026-10-20", "2026-11-18", "2026-09-20", "2026-10-19T14:07:23Z", 30, 30},
		{UsageRequest{From: "2025-11-18", Step: "7d"}, "2025-11-17", "2026-11-22", "2024-11-11", "2025-11-12T14:07:23Z", 53, 53},
		{UsageRequest{From: "2026-06-10", To: "2026-08-02", Step: "1mo"}, "2026-06-01", "2026-08-31", "2026-03-01", "2026-06-01T00:00:00Z", 3, 3},
		{UsageRequest{From: "2026-11-01", To: "2026-11-07"}, "2026-11-01", "2026-11-07", "2026-10-25", "2026-11-01T00:00:00Z", 0, 0},
		{
			UsageRequest{From: "2026-11-01T10:02:00Z", To: "2026-11-01T12:00:00Z"},
			"2026-11-01T10:00:00Z", "2026-11-01T12:00:00Z", "2026-11-01T08:00:00Z", "2026-11-01T10:00:00Z", 0, 0,
		},
	} {
		p, err := parsePeriod(&tt.ask, now)
		if err != nil {
			t.Errorf("%+v: %v", tt.ask, err)
			continue
		}
		before := p.previous(now)
		if p.text(p.from, false) != tt.from || p.text(p.to, true) != tt.to || len(p.starts) != tt.steps {
			t.Errorf("%+v: %s to %s in %d steps", tt.ask, p.text(p.from, false), p.text(p.to, true), len(p.starts))
		}
		if before.text(before.from, false) != tt.before || before.end().UTC().Format(time.RFC3339) != tt.until || len(before.starts) != tt.earlier {
			t.Errorf("%+v: before %s to %s in %d steps", tt.ask, before.text(before.from, false), before.end().UTC(), len(before.starts))
		}
	}
}

func TestInvalidPeriodsAreRefused(t *testing.T) {
	now := time.Date(2026, 11, 18, 14, 7, 23, 0, time.UTC)
	for _, tt := range []struct {
		ask            UsageRequest
		param, message string
	}{
		{UsageRequest{Step: "3h"}, "step", "one of 1m, 5m, 15m"},
		{UsageRequest{Step: "1m"}, "step", "the last 4 days"},
		{UsageRequest{Step: "1m", From: "2026-11-16"}, "step", "more than 1000 steps"},
		{UsageRequest{Step: "15m", From: "2026-11-01"}, "step", "more than 1000 steps"},
		{UsageRequest{TimeZone: "Local"}, "time_zone", "Europe/Berlin"},
		{UsageRequest{TimeZone: "../UTC"}, "time_zone", "Europe/Berlin"},
		{UsageRequest{TimeZone: "Mars/Base"}, "time_zone", "Europe/Berlin"},
		{UsageRequest{TimeZone: "/etc/passwd"}, "time_zone", "Europe/Berlin"},
		{UsageRequest{From: "2026-11-18T14:00:00"}, "from", "a moment as in"},
		{UsageRequest{From: "2026-11-18T15:00:00Z"}, "from", "before to"},
		{UsageRequest{From: "2026-11-19", Step: "1h"}, "from", "before to"},
		{UsageRequest{To: "2026-11-18 14:00:00Z"}, "to", "a moment as in"},
		{UsageRequest{From: "2025-01-01", To: "2026-11-18", Step: "1mo"}, "from", "more than 366 days"},
		{UsageRequest{From: "0000-01-01T00:00:00Z", Step: "1d"}, "from", "a moment as in"},
	} {
		_, err := parsePeriod(&tt.ask, now)
		if e := api.AsError(err); e.Status != 400 || e.Param != tt.param || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%+v: %v", tt.ask, err)
		}
	}
	for _, ask := range []UsageRequest{
		{From: "2025-11-18", Step: "7d", TimeZone: "America/Los_Angeles"}, {From: "2025-11-18T14:07:23Z", Step: "7d"},
		{Step: "1h", From: "2026-10-20"}, {From: "2026-01-01", To: "2027-01-01"}, {Step: "5m", From: "2026-11-15T14:00:00Z"},
	} {
		if _, err := parsePeriod(&ask, now); err != nil {
			t.Errorf("%+v: %v", ask, err)
		}
	}
}
