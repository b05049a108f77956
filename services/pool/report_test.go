package pool

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// end makes a call that ends with an error, or with a first event after a second.
func end(t *testing.T, u *Upstream, w Wish, err error) {
	t.Helper()
	w.IgnoreCooldown = true
	l, leaseErr := u.Lease(w)
	if leaseErr != nil {
		t.Fatal(leaseErr)
	}
	l.Stream, l.Took = true, time.Second
	l.Answered(err)
	l.End()
}

func TestReportShowsCooldownsWithTheirReasonAndEnd(t *testing.T) {
	t.Parallel()
	c := &clock{november}
	u := NewUpstream("p", unasked{}, poolOf("sk-secret-key-0001", "sk-secret-key-0002", "tiny"), c.now)
	first, second := Wish{Model: haiku, Only: u.keys[0].mark}, Wish{Model: haiku, Only: u.keys[1].mark}
	end(t, u, first, providerFault(429, retryAfter(38*time.Second)))
	end(t, u, second, providerFault(401))
	end(t, u, Wish{Model: haiku, Only: u.keys[2].mark}, nil)
	r := u.Report()
	limited, refused, used := r.Keys[0], r.Keys[1], r.Keys[2]
	if limited.Key != "0001" || limited.State != CoolingDown || limited.Reason != "rate limit (429)" ||
		!limited.Until.Equal(november.Add(38*time.Second)) || fmt.Sprint(limited.Models) != "["+haiku+"]" || limited.Calls != 1 {
		t.Errorf("%+v", limited)
	}
	if refused.State != Refused || refused.Models != nil || !strings.Contains(refused.Reason, "401") {
		t.Errorf("%+v", refused)
	}
	if used.State != InUse || used.Reason != "" || !used.Until.IsZero() || used.Key != "y" {
		t.Errorf("%+v", used)
	}
	if r.Hour.Calls != 3 || r.Hour.Refused != 1 || r.Hour.Failed != 1 || r.Hour.P50 < 800*time.Millisecond || r.Hour.P50 > 1300*time.Millisecond {
		t.Errorf("%d calls, %d failed, %d refused, p50 %s", r.Hour.Calls, r.Hour.Failed, r.Hour.Refused, r.Hour.P50)
	}
	c.at = c.at.Add(time.Minute)
	if k := u.Report().Keys[0]; k.State != InUse || k.Models != nil {
		t.Errorf("after the cooldown: %+v", k)
	}
}

func TestEventsOfKeysHaveAnEndAndAreCountedWhenTheyRepeat(t *testing.T) {
	t.Parallel()
	c := &clock{november}
	u := NewUpstream("p", unasked{}, poolOf("sk-secret-key-0001"), c.now)
	for range 3 {
		end(t, u, Wish{Model: haiku}, providerFault(429, retryAfter(2*time.Second)))
		end(t, u, Wish{Model: haiku}, providerFault(429, retryAfter(2*time.Second))) // goes on, which is no event
		c.at = c.at.Add(3 * time.Second)
		end(t, u, Wish{Model: haiku}, nil)
	}
	events := u.Report().Recent
	if len(events) != 2 || events[0].Kind != KeyRestored || events[1].Kind != KeyCoolingDown {
		t.Fatalf("%+v", events)
	}
	if e := events[1]; e.Times != 3 || !e.Since.Equal(november) || !e.At.Equal(november.Add(6*time.Second)) || e.Model != haiku ||
		e.Key != "0001" || e.Detail != "rate limit (429); not used for 2s" {
		t.Errorf("%+v", e)
	}
	end(t, u, Wish{Model: haiku}, providerFault(402))
	end(t, u, Wish{Model: haiku}, nil)
	c.at = c.at.Add(eventPause)
	end(t, u, Wish{Model: haiku}, providerFault(402))
	events = u.Report().Recent
	if e := events[0]; len(events) != 5 || e.Kind != KeyRefused || e.Times != 1 || e.Model != "" || !strings.Contains(e.Detail, "402") {
		t.Errorf("%d events, %+v", len(events), e)
	}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	var r recent
	for i := range 3 * mostEvents {
		r.add(Event{At: november, Kind: KeyCoolingDown, Model: fmt.Sprint(i)})
	}
	list := r.list()
	if len(list) != mostEvents || cap(r.kept) > 2*mostEvents || list[0].Model != fmt.Sprint(3*mostEvents-1) {
		t.Errorf("%d events, the latest is %+v", len(list), list[0])
	}
}

func TestReportShowsWhatACircuitDoes(t *testing.T) {
	t.Parallel()
	u := NewUpstream("p", unasked{}, poolOf("sk-secret-key-0001"), time.Now)
	for range circuitCalls {
		end(t, u, Wish{Model: haiku}, unreached(502))
	}
	r := u.Report()
	if wait := time.Until(r.CircuitUntil); r.Circuit != Open || r.Status != Unhealthy || r.Keys[0].Circuit != Open || r.Keys[0].OneCaller ||
		wait <= 0 || wait > circuitPause {
		t.Errorf("%+v", r)
	}
	if e := r.Recent[0]; len(r.Recent) != 1 || e.Kind != CircuitOpened || !strings.Contains(e.Detail, "60%") {
		t.Errorf("%+v", r.Recent)
	}
	if r.Hour.Failed != circuitCalls {
		t.Errorf("%d failed", r.Hour.Failed)
	}
}

func TestReportShowsACircuitThatIsOpenForOneCaller(t *testing.T) {
	t.Parallel()
	u := NewUpstream("p", unasked{}, poolOf("sk-secret-key-0001"), time.Now)
	for range circuitCalls {
		end(t, u, Wish{Model: haiku, Caller: "mallory"}, providerFault(500))
	}
	r := u.Report()
	if r.Circuit != Closed || !r.CircuitUntil.IsZero() || r.Keys[0].Circuit != Open || !r.Keys[0].OneCaller {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Recent[0].Detail, "one caller") {
		t.Errorf("%+v", r.Recent)
	}
}

func TestRenewedKeysKeepTheirHourAndTheirEvents(t *testing.T) {
	t.Parallel()
	u := NewUpstream("p", unasked{}, poolOf("sk-secret-key-0001"), time.Now)
	u.Type = "openai"
	end(t, u, Wish{Model: haiku}, providerFault(429))
	next := u.Renewed(poolOf("sk-secret-key-0002", "sk-secret-key-0001"))
	end(t, next, Wish{Model: haiku, Only: next.keys[1].mark}, errors.New("of the gateway itself"))
	r := next.Report()
	if len(r.Recent) != 1 || r.Keys[1].Calls != 2 || r.Keys[0].Calls != 0 || r.Hour.Calls != 2 || next.Type != "openai" {
		t.Errorf("%+v", r)
	}
}
