package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// check returns what is wrong with a call during the fault, or "".
func (e expectation) check(c probeResult, since, lifted time.Time) string {
	allowed, longest := served, e.otherLongest
	switch {
	case c.account:
		allowed, longest = e.accounts, e.longest
	case c.fails != "":
		allowed, longest = e.needs, e.longest
	}
	well := c.began.Before(since.Add(e.known)) || c.ended.After(lifted)
	switch {
	case c.took() > longest:
		return fmt.Sprintf("more than %v", longest)
	case c.status == 0:
		return "no answer at all"
	case c.status == http.StatusOK && well: // what it brings is looked at below
	case !slices.Contains(allowed, c.status):
		return fmt.Sprintf("none of %v", allowed)
	}
	garbled, cut := c.fails != "" && e.garbled, c.fails != "" && e.cut
	if c.status != http.StatusOK {
		return refusal(c, garbled)
	}
	return content(c, garbled, cut)
}

// content returns what is wrong with a 200.
func content(c probeResult, garbled, cut bool) string {
	switch {
	case c.right:
		return ""
	case c.account && garbled && c.err == nil && json.Valid([]byte(c.body)):
		return ""
	case c.account:
		return "not what is kept"
	case c.done && c.fault == "" && c.err == nil:
		if garbled {
			return ""
		}
		return "shown as complete, and is not"
	case c.done:
		return "an end mark, and yet no end"
	case !cut:
		return "broken off"
	case c.fault == "":
		return "broken off without an error event"
	case c.err == nil:
		return "the connection was not cut behind the error event"
	}
	return ""
}

// refusal returns what is wrong with an error.
func refusal(c probeResult, garbled bool) string {
	var answer struct {
		Error struct{ Type, Code, Message string }
	}
	if err := json.Unmarshal([]byte(c.body), &answer); err != nil || c.err != nil {
		return fmt.Sprintf("no error object: %v %v", err, c.err)
	}
	code, retry := c.fails, c.header.Get("X-Should-Retry")
	switch {
	case garbled && c.fails == "service_unavailable" && c.status < 500: // the refusal of a garbled row
	case answer.Error.Code != code:
		return "not " + code
	case answer.Error.Message == "" || strings.Contains(c.body, "127.0.0.1"):
		return "a message that says nothing or too much"
	case c.status == http.StatusServiceUnavailable && c.fails == "provider_error" && c.header.Get("Retry-After") == "":
		return "no word on when to come again"
	case retry != "true" && (retry != "false" || !garbled):
		return "x-should-retry: " + retry
	}
	return ""
}

func TestTheCheckOfTheMatrixFindsEachFault(t *testing.T) {
	now := time.Now()
	stream, list := &probe{name: "a stream", fails: "provider_error"}, visit(nil, "the list", "", "", "", "")
	e := expectation{needs: []int{502}, accounts: []int{503}, known: second, cut: true, longest: second, otherLongest: second}
	fault := `{"error":{"type":"api_error","code":"provider_error","message":"it fails"}}`
	good := probeResult{probe: stream, began: now.Add(2 * second), ended: now.Add(2 * second)}
	good.status, good.body, good.header = 502, fault, http.Header{"X-Should-Retry": {"true"}}
	broken := good
	broken.status, broken.began, broken.ended = 200, now, now
	broken.fault, broken.err = fault, io.ErrUnexpectedEOF
	for _, c := range []probeResult{good, broken} {
		if fault := e.check(c, now, now.Add(time.Minute)); fault != "" {
			t.Errorf("nothing is wrong, and yet: %s", fault)
		}
	}
	row, expiredRow := expectation{accounts: rewritten, garbled: true, longest: second}, good
	expiredRow.probe, expiredRow.status = list, http.StatusUnauthorized
	expiredRow.body = `{"error":{"type":"authentication_error","code":"account_expired","message":"it has expired"}}`
	if fault := row.check(expiredRow, now, now.Add(time.Minute)); fault != "" {
		t.Errorf("a garbled row refuses its caller, which is allowed, and yet: %s", fault)
	}
	row.garbled = false
	if row.check(expiredRow, now, now.Add(time.Minute)) == "" {
		t.Error("an expiry that no row has: not seen")
	}
	for name, spoil := range map[string]func() probeResult{
		"it hangs":                 func() probeResult { c := good; c.ended = now.Add(4 * second); return c },
		"no answer":                func() probeResult { c := good; c.status = 0; return c },
		"another status":           func() probeResult { c := good; c.status = 401; return c },
		"served for too long":      func() probeResult { c := good; c.status, c.right = 200, true; return c },
		"no error object":          func() probeResult { c := good; c.body = "oops"; return c },
		"another code":             func() probeResult { c := good; c.body = strings.Replace(fault, "provider", "internal", 1); return c },
		"an address in it":         func() probeResult { c := good; c.body = strings.Replace(fault, "fails", "127.0.0.1", 1); return c },
		"no word on trying again":  func() probeResult { c := good; c.header = nil; return c },
		"spared, and yet refused":  func() probeResult { c := good; c.probe = &probe{}; return c },
		"shown as complete":        func() probeResult { c := broken; c.done, c.fault, c.err = true, "", nil; return c },
		"an end behind the error":  func() probeResult { c := broken; c.done = true; return c },
		"cut without a word":       func() probeResult { c := broken; c.fault = ""; return c },
		"an error and a clean end": func() probeResult { c := broken; c.err = nil; return c },
		"a list without the key":   func() probeResult { c := broken; c.probe, c.err = list, nil; return c },
	} {
		if e.check(spoil(), now, now.Add(time.Minute)) == "" {
			t.Errorf("%s: not seen", name)
		}
	}
	e.cut = false
	if e.check(broken, now, now.Add(time.Minute)) == "" {
		t.Error("a stream that was to go on broke off: not seen")
	}
}
