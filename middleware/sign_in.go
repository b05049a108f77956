package middleware

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/signin"
)

// The shares of a budget from which on Claude Code tells its user what is used.
const (
	FirstNotice  = 0.75
	secondNotice = 0.95
)

const usagePrefix = "Anthropic-Ratelimit-Unified-"

// UsageHeaders tell a program that is signed in how much of its budget is used, in the headers of Claude Code's
// protocol. It describes the fullest budget that begins again. Where it cannot be looked up there are none.
func (m Chain) UsageHeaders(of func(context.Context, models.Levels) ([]signin.Standing, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := RequestOf(c)
		if r.Caller.SignIn == "" {
			return
		}
		all, err := of(c.Request.Context(), r.Caller.Levels)
		if err != nil || len(all) == 0 {
			return
		}
		r.standings = all
		s, used := &all[0], all[0].Used()
		status, notice := "allowed", ""
		switch {
		case used >= secondNotice:
			status, notice = "allowed_warning", strconv.FormatFloat(secondNotice, 'f', 2, 64)
		case used >= FirstNotice:
			status, notice = "allowed_warning", strconv.FormatFloat(FirstNotice, 'f', 2, 64)
		}
		const below = 0.99 // of a call that is still let through
		reset := strconv.FormatInt(s.Resets.Unix(), 10)
		set := func(name, value string) { c.Header(usagePrefix+name, value) }
		set("Status", status)
		set("Representative-Claim", "overage") // another one is a window that rolls
		set("Overage-Status", status)
		set("Overage-Utilization", strconv.FormatFloat(float64(int64(100*min(used, below)))/100, 'f', 2, 64))
		if notice != "" {
			set("Overage-Surpassed-Threshold", notice)
		}
		set("Reset", reset)
		set("Overage-Reset", reset)
	}
}

// spent sets the headers of a call that a budget has refused: of the budgets that are spent the one that begins again
// last. It returns how long that takes; 0 = for ever.
func (r *Request) spent(e *api.Error, header http.Header, now time.Time) time.Duration {
	set := func(name, value string) { header.Set(usagePrefix+name, value) }
	set("Status", "rejected")
	set("Overage-Utilization", "1")
	set("Overage-Surpassed-Threshold", "1")
	set("Overage-Disabled-Reason", "org_spend_cap_reached")
	if e.Resets.IsZero() {
		return 0
	}
	window, resets := models.Window(e.Window), e.Resets
	for i := range r.standings {
		if s := &r.standings[i]; s.Used() >= 1 && s.Resets.After(resets) {
			window, resets = s.Window, s.Resets
		}
	}
	reset := strconv.FormatInt(resets.Unix(), 10)
	set("Reset", reset)
	set("Overage-Reset", reset)
	set("Overage-Period", Period(window))
	return resets.Sub(now)
}

// forgetUsage removes the headers of UsageHeaders, which are for answers only.
func (r *Request) forgetUsage(header http.Header) {
	if r.standings == nil {
		return
	}
	for name := range header {
		if strings.HasPrefix(name, usagePrefix) {
			header.Del(name)
		}
	}
}

// Period is a window in the words of Claude Code's protocol.
func Period(w models.Window) string {
	switch w {
	case models.Day:
		return "daily"
	case models.Week:
		return "weekly"
	}
	return "monthly"
}

// refusedSignIn is an error as a program that is signed in reads it.
func (r *Request) refusedSignIn(e *api.Error, header http.Header, now time.Time) {
	e.SignedIn = true
	r.forgetUsage(header)
	if e.Status == http.StatusPaymentRequired {
		e.RetryAfter = r.spent(e, header, now)
	}
}
