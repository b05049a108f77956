package ledger

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"modelgateway/models"
)

const (
	usageSeries = 20      // groups with a series of their own in one answer
	usageCells  = 200_000 // that are kept for the series while the groups are not known yet, 13 MB
)

// times are the distributions of the times of calls.
type times struct {
	firstToken, duration models.Histogram
	errors               models.Errors
}

func (t *times) add(o *models.Tally) {
	t.firstToken.Add(o.FirstToken)
	t.duration.Add(o.Duration)
	t.errors.Add(&o.Errors)
}

// sum adds other distributions.
func (t *times) sum(o *times) {
	for i, n := range o.firstToken {
		t.firstToken[i] += n
	}
	for i, n := range o.duration {
		t.duration[i] += n
	}
	t.errors.Add(&o.errors)
}

// usageStep is what all calls of a step come to.
type usageStep struct {
	models.Sum
	times times
}

// usageGroup is what the calls of a group come to.
type usageGroup struct {
	models.Usage
	times times
	steps []usageCell // of the series; nil while it is not kept
	keys  []uint64    // a bit for each of usageCount.keys that called
}

// usageCell is what the calls of a group in a step come to.
type usageCell struct {
	calls, failed, cost, input, cached, output, reasoning int64
}

func (c *usageCell) add(s *models.Sum) {
	c.calls += s.Calls
	c.failed += s.Failed
	c.cost += s.Cost
	c.input += s.InputTokens
	c.cached += s.CachedTokens
	c.output += s.OutputTokens
	c.reasoning += s.ReasoningTokens
}

// usageName is what the calls of a group have in common.
type usageName struct{ day, user, key, team, model, provider, agent, project string }

// usageCount sums the calls of a period.
type usageCount struct {
	period    *period
	by        map[models.UsageBy]bool
	most      int // groups
	mostCells int // of groups without a place in the series yet
	groups    map[usageName]*usageGroup
	total     models.Sum
	times     times
	steps     []usageStep

	borders []int64
	days    []int64        // the beginnings of the days, for groups of them
	keys    map[string]int // the numbers of the keys of groups by model alone; nil for others
	only    bool           // the series is kept of those groups only that have one
	cells   int            // kept for the series

	last      models.UsageGroup
	lastDay   int
	lastGroup *usageGroup
}

func newUsageCount(p *period, q *models.UsageQuery) *usageCount {
	c := &usageCount{period: p, by: map[models.UsageBy]bool{}, most: q.MaxGroups, groups: map[usageName]*usageGroup{}}
	for _, by := range q.By {
		c.by[by] = true
	}
	if slices.Equal(q.By, []models.UsageBy{models.ByModel}) {
		c.keys = map[string]int{}
	}
	c.steps = make([]usageStep, len(p.starts))
	c.borders = p.borders(c.by[models.ByDay])
	if c.by[models.ByDay] {
		day := step{days: 1}
		for at := day.floor(p.from); at.Before(p.to); at = day.next(at) {
			c.days = append(c.days, at.Unix())
		}
	}
	return c
}

// hasNoBorder says whether there is no border inside a time.
func (c *usageCount) hasNoBorder(from, to int64) bool {
	i := sort.Search(len(c.borders), func(i int) bool { return c.borders[i] > from })
	return i == len(c.borders) || c.borders[i] >= to
}

// add adds calls that began at a time.
func (c *usageCount) add(t models.UsageTime) error {
	g, err := c.group(t.Group, t.At)
	if err != nil {
		return err
	}
	step := -1
	if len(c.steps) > 0 {
		step = max(0, c.period.stepOf(t.At))
	}
	if c.only {
		if g != nil && g.steps != nil {
			g.steps[step].add(&t.Tally.Sum)
		}
		return nil
	}
	g.Add(&t.Tally.Sum)
	g.times.add(t.Tally)
	if step < 0 {
		return nil
	}
	c.steps[step].Add(&t.Tally.Sum)
	c.steps[step].times.add(t.Tally)
	if g.steps == nil && c.cells <= c.mostCells {
		c.cells += len(c.steps)
		g.steps = make([]usageCell, len(c.steps))
	}
	if g.steps != nil {
		g.steps[step].add(&t.Tally.Sum)
	}
	return nil
}

// group is the group that calls belong to; nil for one that is new in a second reading.
func (c *usageCount) group(of models.UsageGroup, at int64) (*usageGroup, error) {
	day := 0
	if c.days != nil {
		day = sort.Search(len(c.days), func(i int) bool { return c.days[i] > at }) - 1
	}
	if of == c.last && day == c.lastDay && c.lastGroup != nil {
		return c.lastGroup, nil
	}
	var name usageName
	if c.days != nil {
		name.day = time.Unix(c.days[max(0, day)], 0).In(c.period.from.Location()).Format(time.DateOnly)
	}
	if c.by[models.ByUser] {
		name.user = of.User
	}
	if c.by[models.ByKey] {
		name.key = of.Key
	}
	if c.by[models.ByTeam] {
		name.team = of.Team
	}
	if c.by[models.ByModel] {
		name.model = of.Model
	}
	if c.by[models.ByModel] || c.by[models.ByProvider] {
		name.provider = of.Provider
	}
	if c.by[models.ByAgent] {
		name.agent = of.Agent
	}
	if c.by[models.ByProject] {
		name.project = of.Project
	}
	g := c.groups[name]
	if g == nil && !c.only {
		if len(c.groups) == c.most {
			return nil, models.ErrTooMany
		}
		g = &usageGroup{Usage: models.Usage{
			Day: name.day, UserID: name.user, KeyID: name.key, TeamID: name.team, Model: name.model, Provider: name.provider,
			Agent: name.agent, Project: name.project,
		}}
		c.groups[name] = g
	}
	c.last, c.lastDay, c.lastGroup = of, day, g
	if c.keys != nil && g != nil && of.Key != "" {
		c.countKey(g, of.Key)
	}
	return g, nil
}

// countKey notes that a key called a model. There may be many thousand keys of each.
func (c *usageCount) countKey(g *usageGroup, key string) {
	const word = 64
	n, known := c.keys[key]
	if !known {
		n = len(c.keys)
		c.keys[key] = n
	}
	for len(g.keys) <= n/word {
		g.keys = append(g.keys, 0)
	}
	if bit := uint64(1) << (n % word); g.keys[n/word]&bit == 0 {
		g.keys[n/word] |= bit
		g.Keys++
	}
}

// greatest are the groups that have a series of their own: those that cost most.
func (c *usageCount) greatest() []*usageGroup {
	all := make([]*usageGroup, 0, len(c.groups))
	for _, g := range c.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *usageGroup) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Day, b.Day),
			cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TeamID, b.TeamID),
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Project, b.Project))
	})
	return all[:min(usageSeries, len(all))]
}

// again prepares a second reading, which keeps the series of the greatest groups, and
// reports whether it is necessary.
func (c *usageCount) again() bool {
	if c.cells <= c.mostCells || len(c.steps) == 0 {
		return false
	}
	for _, g := range c.groups {
		g.steps = nil
	}
	for _, g := range c.greatest() {
		g.steps = make([]usageCell, len(c.steps))
	}
	c.only, c.lastGroup = true, nil
	return true
}

// sum sums up what all calls come to: of the steps, which are fewer, or of the groups.
func (c *usageCount) sum() {
	c.total, c.times = models.Sum{}, times{}
	for i := range c.steps {
		c.total.Add(&c.steps[i].Sum)
		c.times.sum(&c.steps[i].times)
	}
	if len(c.steps) > 0 {
		return
	}
	for _, g := range c.groups {
		c.total.Add(&g.Sum)
		c.times.sum(&g.times)
	}
}

// other is the series of the groups that have none of their own, and their number.
func (c *usageCount) other(own []*usageGroup) (cells []usageCell, n int) {
	cells = make([]usageCell, len(c.steps))
	for i := range cells {
		cells[i].add(&c.steps[i].Sum)
		for _, g := range own {
			cells[i].sub(&g.steps[i])
		}
	}
	return cells, len(c.groups) - len(own)
}

func (c *usageCell) sub(o *usageCell) {
	c.calls -= o.calls
	c.failed -= o.failed
	c.cost -= o.cost
	c.input -= o.input
	c.cached -= o.cached
	c.output -= o.output
	c.reasoning -= o.reasoning
}
