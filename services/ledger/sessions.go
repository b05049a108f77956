package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// Sessions lists the sessions that have calls which a request selects. Their sums are of all calls
// that may be read.
func (s *Calls) Sessions(ctx context.Context, of CallsOf, req CallsRequest) (list api.CursorPage[api.AgentSession], err error) {
	list = api.CursorPage[api.AgentSession]{Object: api.ObjectList, Data: []api.AgentSession{}}
	only, err := req.filter()
	if err != nil {
		return list, err
	}
	page, err := req.page()
	if err != nil {
		return list, err
	}
	if _, ok := models.SessionNumber(req.After); req.After != "" && !ok {
		return list, api.Invalid(api.CodeInvalidValue, "after", "after must be the id of a session")
	}
	if !of.narrow(&only) {
		return list, nil
	}
	found, next, err := s.opts.Store.Sessions(ctx, of.filter(), only, page)
	if err != nil {
		return list, api.Unavailable(fmt.Errorf("list sessions: %w", err))
	}
	if err := s.nameDeletedOwners(ctx, of, found); err != nil {
		return list, err
	}
	for i := range found {
		list.Data = append(list.Data, showSession(&found[i]))
	}
	list.HasMore, list.NextAfter = next != "", api.Maybe(next)
	return list, nil
}

// nameDeletedOwners names the users of sessions who were deleted, where all sessions may be read.
func (s *Calls) nameDeletedOwners(ctx context.Context, of CallsOf, sessions []models.Session) error {
	return s.nameDeleted(ctx, of, len(sessions), func(i int) *models.NamedCall { return &sessions[i].First })
}

func (of *CallsOf) filter() models.CallFilter {
	return models.CallFilter{UserID: of.UserID, KeyID: of.KeyID, TeamID: of.TeamID}
}

// sessionTimeout bounds the reading of all calls of a session.
const sessionTimeout = 10 * time.Second

// Session is one session with its agents. One without calls that may be read does not exist. Its sums are
// those of the calls that are read for the agents: others may come meanwhile.
func (s *Calls) Session(ctx context.Context, of CallsOf, id string) (*api.AgentSessionDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	number, ok := models.SessionNumber(id)
	if !ok {
		return nil, api.SessionNotFound()
	}
	found, err := s.opts.Store.Session(ctx, of.filter(), number)
	if errors.Is(err, models.ErrNotFound) {
		return nil, api.SessionNotFound()
	}
	var all sessionAgents
	for after, more := int64(0), true; more && err == nil; more = after > 0 {
		var calls []models.Call
		calls, after, err = s.opts.Store.SessionCalls(ctx, of.filter(), number, after)
		for i := range calls {
			all.add(&calls[i])
		}
	}
	if err != nil {
		return nil, api.Unavailable(fmt.Errorf("read a session: %w", err))
	}
	if all.whole.Calls == 0 { // they were deleted meanwhile
		return nil, api.SessionNotFound()
	}
	one := []models.Session{*found}
	if err := s.nameDeletedOwners(ctx, of, one); err != nil {
		return nil, err
	}
	shown := &api.AgentSessionDetail{AgentSession: showSession(&one[0])}
	shown.SessionPart = all.whole.show()
	for _, a := range all.tree() {
		shown.Agents = append(shown.Agents, api.SessionAgent{
			AgentID: api.Maybe(a.id), ParentAgentID: api.Maybe(a.parent), Depth: a.depth, SessionPart: a.show(),
		})
	}
	return shown, nil
}

// sessionPart is what some calls of a session come to.
type sessionPart struct {
	models.Sum
	began, ended int64 // Unix microseconds
	models       []string
	missedTokens int64
}

// add adds the next call.
func (p *sessionPart) add(c *models.Call) {
	if p.Calls == 0 {
		p.began = c.BeganAt
	}
	p.ended = c.BeganAt + c.DurationUS
	p.AddCall(c)
	tokens, _ := c.Missed()
	p.missedTokens += tokens
	if model := cmp.Or(c.Served, c.Model); !slices.Contains(p.models, model) {
		p.models = append(p.models, model)
	}
}

func (p *sessionPart) show() api.SessionPart {
	shown := api.SessionPart{
		BeganAtMS: time.UnixMicro(p.began).UnixMilli(), EndedAtMS: time.UnixMicro(p.ended).UnixMilli(),
		UsageSums: usageSums(&p.Sum), Models: []string{},
		CacheMisses: p.CacheMisses, CacheMissedTokens: p.missedTokens, CacheMissCostUSD: api.USD(p.CacheMissCost),
	}
	shown.DurationMS = shown.EndedAtMS - shown.BeganAtMS
	if p.InputTokens > 0 {
		const digits = 1e4
		share := math.Round(float64(p.CachedTokens)/float64(p.InputTokens)*digits) / digits
		shown.CacheShare = &share
	}
	shown.Models = append(shown.Models, p.models...)
	slices.Sort(shown.Models)
	return shown
}

func showSession(s *models.Session) api.AgentSession {
	part := sessionPart{s.Sum, s.BeganAt, s.EndedAt, s.Models, s.MissedTokens}
	c := &s.First
	return api.AgentSession{
		ID: models.SessionIDText(c.SessionN), Object: api.ObjectSession, Name: c.Session,
		UserID: api.Maybe(c.UserID), UserEmail: api.Maybe(c.UserEmail), UserDeletedAt: api.Moment(c.DeletedAt),
		KeyID: api.Maybe(c.KeyID), KeyName: api.Maybe(c.KeyName), Agent: api.Maybe(c.Agent), Project: api.Maybe(c.Project),
		SessionPart: part.show(),
	}
}

// mostAgents is how many agents of a session are told apart. The calls of others are the main agent's.
const mostAgents = 1000

// sessionAgents are the agents of a session, in the order of their first calls.
type sessionAgents struct {
	whole  sessionPart
	agents []sessionAgent // the first is the main agent
	places map[string]int // of the agents, by their ids
}

type sessionAgent struct {
	sessionPart
	id, parent string
	depth      int
}

// add adds the next call of the session.
func (a *sessionAgents) add(c *models.Call) {
	if a.places == nil {
		a.places, a.agents = map[string]int{"": 0}, []sessionAgent{{sessionPart: sessionPart{began: c.BeganAt, ended: c.BeganAt}}}
	}
	a.whole.add(c)
	at, known := a.places[c.AgentID]
	if !known && len(a.agents) < mostAgents {
		at = len(a.agents)
		a.places[c.AgentID] = at
		a.agents = append(a.agents, sessionAgent{id: c.AgentID})
	}
	agent := &a.agents[at]
	if agent.parent == "" && at > 0 {
		agent.parent = c.ParentAgentID
	}
	agent.add(c)
}

// tree are the agents, parents first. The parent of one whose client names none that is known, or names
// one that it started itself, is the main agent.
func (a *sessionAgents) tree() []sessionAgent {
	children := make([][]int, len(a.agents))
	for i := 1; i < len(a.agents); i++ {
		parent := a.places[a.agents[i].parent]
		children[parent] = append(children[parent], i)
	}
	sorted, placed := make([]sessionAgent, 0, len(a.agents)), make([]bool, len(a.agents))
	var place func(i int, parent string, depth int)
	place = func(i int, parent string, depth int) {
		if placed[i] {
			return
		}
		placed[i], a.agents[i].parent, a.agents[i].depth = true, parent, depth
		sorted = append(sorted, a.agents[i])
		for _, child := range children[i] {
			place(child, a.agents[i].id, depth+1)
		}
	}
	for i := range a.agents {
		place(i, "", min(i, 1))
	}
	return sorted
}
