package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/models"
)

// The rows of one page of calls.
const (
	LongestPage = 200
	usualPage   = 50
)

// Calls shows the calls of the ledger, which lags behind them by a moment.
type Calls struct {
	opts CallsOptions
}

// CallsOptions configure Calls.
type CallsOptions struct {
	Store *models.Store
	Price func(model string, at time.Time) catalog.Price // of a model at a time
	// Content is what the gateway keeps of the content of a call: one of the Content constants.
	Content func(ctx context.Context, id string) (string, error)
}

// NewCalls makes a Calls.
func NewCalls(opts CallsOptions) *Calls { return &Calls{opts} }

// CallsOf are those whose calls may be read. The zero value, which is for administrators,
// means all.
type CallsOf struct{ UserID, KeyID, TeamID string }

// OwnCalls are those of a caller: of a user with all their keys, or of one key.
func OwnCalls(userID, keyID string) (CallsOf, error) {
	if userID == "" && keyID == "" {
		return CallsOf{}, api.Unauthorized(api.CodeMissingCredentials, "calls belong to a caller: send the token of a login or an API key")
	}
	return CallsOf{UserID: userID, KeyID: keyID}, nil
}

// CallsRequest selects calls, as the client wrote it; empty fields mean defaults.
type CallsRequest struct {
	From, To               string // days or moments
	UserID, KeyID, TeamID  string
	Model                  string // the one that answered, or was tried last
	Provider, Dialect      string
	Agent, Project         string
	Session                string // as its client names it, or its id
	Reason                 string // of refusals
	Outcome, Status        string
	CacheMiss              string // a verdict, or any
	RequestID, Search      string
	After, Limit, TimeZone string
}

// List lists calls.
func (s *Calls) List(ctx context.Context, of CallsOf, req CallsRequest) (list api.CursorPage[api.Call], err error) {
	filter, err := req.filter()
	if err != nil {
		return list, err
	}
	page, err := req.callPage()
	if err != nil {
		return list, err
	}
	filter.SearchDeleted = of == (CallsOf{}) && filter.Search != ""
	found := &models.CallPage{}
	if of.narrow(&filter) {
		if found, err = s.opts.Store.Calls(ctx, filter, page); err != nil {
			return list, api.Unavailable(fmt.Errorf("list calls: %w", err))
		}
	}
	err = s.nameDeleted(ctx, of, len(found.Rows), func(i int) *models.NamedCall { return &found.Rows[i] })
	return showCalls(found), err
}

// Get is one call. One that may not be read does not exist.
func (s *Calls) Get(ctx context.Context, of CallsOf, id string) (*api.CallDetail, error) {
	filter := models.CallFilter{UserID: of.UserID, KeyID: of.KeyID, TeamID: of.TeamID}
	call, err := s.opts.Store.Call(ctx, filter, id)
	if errors.Is(err, models.ErrNotFound) {
		return nil, api.CallNotFound("there is no call with this id")
	}
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("read a call: %w", err))
	}
	if err := s.nameDeleted(ctx, of, 1, func(int) *models.NamedCall { return call }); err != nil {
		return nil, err
	}
	shown := s.showDetail(of, call)
	shown.Content, err = s.opts.Content(ctx, id)
	return shown, err
}

// nameDeleted names the users of n calls who were deleted, where all calls may be read.
func (s *Calls) nameDeleted(ctx context.Context, of CallsOf, n int, call func(i int) *models.NamedCall) error {
	if of != (CallsOf{}) {
		return nil
	}
	return nameDeleted(ctx, s.opts.Store, n, func(i int) userName {
		c := call(i)
		return userName{c.UserID, &c.UserEmail, &c.DeletedAt}
	})
}

// narrow adds to a filter whose calls may be read, and says whether there can be any.
func (of *CallsOf) narrow(f *models.CallFilter) bool {
	for _, only := range []struct {
		may  string
		into *string
	}{{of.UserID, &f.UserID}, {of.KeyID, &f.KeyID}, {of.TeamID, &f.TeamID}} {
		if only.may == "" {
			continue
		}
		if *only.into != "" && *only.into != only.may {
			return false
		}
		*only.into = only.may
	}
	return true
}

// filter reads the request.
func (req *CallsRequest) filter() (f models.CallFilter, err error) {
	f = models.CallFilter{
		UserID: req.UserID, KeyID: req.KeyID, TeamID: req.TeamID, Model: req.Model, Provider: req.Provider, Dialect: req.Dialect,
		RequestID: req.RequestID, Search: req.Search, Agent: req.Agent, Project: req.Project, Session: req.Session,
	}
	for _, only := range []struct{ param, value string }{
		{"user_id", f.UserID}, {"key_id", f.KeyID}, {"team_id", f.TeamID}, {"model", f.Model}, {"provider", f.Provider},
		{"agent", f.Agent}, {"project", f.Project}, {"session", f.Session}, {"dialect", f.Dialect},
		{"request_id", f.RequestID}, {"q", f.Search}, {"reason", req.Reason},
	} {
		const longest = 256
		if len(only.value) > longest || !utf8.ValidString(only.value) || strings.Contains(only.value, "\x00") {
			return f, api.Invalid(api.CodeInvalidValue, only.param, "%s must be at most %d bytes of UTF-8 without NUL",
				only.param, longest)
		}
	}
	if err = req.outcome(&f); err != nil {
		return f, err
	}
	if f.CacheMiss = models.CacheMissOf(req.CacheMiss); req.CacheMiss == anyMiss {
		f.CacheMiss = models.AnyCacheMiss
	} else if req.CacheMiss != "" && f.CacheMiss == 0 {
		return f, api.Invalid(api.CodeInvalidValue, "cache_miss", "cache_miss must be %s or one of %s, not %s", anyMiss,
			strings.Join(models.CacheVerdicts(), ", "), api.Quoted(req.CacheMiss))
	}
	return f, req.times(&f)
}

// anyMiss as a verdict selects all calls that missed something in a provider's cache.
const anyMiss = "any"

// failed as an outcome selects all calls that were neither answered nor ended by their client.
const failed = "failed"

func (req *CallsRequest) outcome(f *models.CallFilter) error {
	outcomes := models.Outcomes()
	switch {
	case req.Outcome == failed:
		f.Failed = true
	case req.Outcome != "" && !slices.Contains(outcomes, req.Outcome):
		return api.Invalid(api.CodeInvalidValue, "outcome", "outcome must be %s or one of %s, not %s", failed,
			strings.Join(outcomes, ", "), api.Quoted(req.Outcome))
	default:
		f.Outcome = req.Outcome
	}
	const hundred, lowest, highest = 100, 100, 599
	digits, whole := strings.CutSuffix(req.Status, "xx")
	n, err := strconv.Atoi(digits)
	if whole {
		n *= hundred
	}
	switch {
	case req.Status == "":
		return nil
	case err != nil || n < lowest || n > highest:
		return api.Invalid(api.CodeInvalidValue, "status", "status must be an HTTP status such as 429, or a class such as 4xx, not %s",
			api.Quoted(req.Status))
	case whole:
		f.MinStatus, f.MaxStatus = n, n+hundred-1
	default:
		f.MinStatus, f.MaxStatus = n, n
	}
	return nil
}

// times reads the bounds of the time: a day begins at midnight of the time zone, and the
// last day is included.
func (req *CallsRequest) times(f *models.CallFilter) error {
	loc, err := time.LoadLocation(req.TimeZone)
	if err != nil || req.TimeZone == "Local" {
		return api.Invalid(api.CodeInvalidValue, "time_zone",
			"time_zone must be the name of a time zone such as Europe/Berlin or UTC, not %s", api.Quoted(req.TimeZone))
	}
	for _, bound := range []struct {
		param, text string
		days        int // that a day is long
		into        *int64
	}{{"from", req.From, 0, &f.From}, {"to", req.To, 1, &f.To}} {
		if bound.text == "" {
			continue
		}
		at, err := time.ParseInLocation(time.DateOnly, bound.text, loc)
		if err == nil {
			at = at.AddDate(0, 0, bound.days)
		} else if at, err = time.Parse(time.RFC3339, bound.text); err != nil {
			return api.Invalid(api.CodeInvalidValue, bound.param,
				"%s must be a day as in 2026-11-21 or a moment as in 2026-11-21T14:30:00Z, not %s", bound.param, api.Quoted(bound.text))
		}
		*bound.into = max(at.UnixMicro(), 1)
	}
	if f.From > 0 && f.To > 0 && f.From >= f.To {
		return api.Invalid(api.CodeInvalidValue, "from", "from must be before to")
	}
	return nil
}

// callPage is page where rows are calls.
func (req *CallsRequest) callPage() (models.Page, error) {
	if req.After != "" && !models.IsCallID(req.After) {
		return models.Page{}, api.Invalid(api.CodeInvalidValue, "after", "after must be the id of a call")
	}
	return req.page()
}

func (req *CallsRequest) page() (models.Page, error) {
	page := models.Page{After: req.After, Limit: usualPage}
	if req.Limit == "" {
		return page, nil
	}
	limit, err := strconv.Atoi(req.Limit)
	if err != nil || limit < 1 || limit > LongestPage {
		return page, api.Invalid(api.CodeInvalidValue, "limit", "limit must be a whole number from 1 to %d", LongestPage)
	}
	page.Limit = limit
	return page, nil
}
