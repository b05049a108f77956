package takeover

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/models"
	"modelgateway/services/auth"
)

// Service takes over.
type Service struct {
	Store *models.Store
	Keys  *auth.Keys
	Now   func() time.Time
}

// Report is what a run has done.
type Report struct {
	Made    int      `json:"made"`
	Changed int      `json:"changed"`
	Revoked int      `json:"revoked"`
	Kept    []string `json:"kept,omitempty"` // what was changed on both sides, and is as it was here
}

// Options are how a run is made.
type Options struct {
	DryRun bool // nothing is written
	Force  bool // more than a tenth of the keys may be revoked
}

// atOnce is how many things are taken in one transaction. A run that is ended is continued by the next.
const atOnce = 50

var errDryRun = errors.New("dry run")

// Take carries out a plan: what is new there is made, and what has changed there since the last run is
// changed, unless it was changed here as well. What is gone there stays, but for keys, which are revoked.
func (s *Service) Take(ctx context.Context, p *Plan, o Options) (*Report, error) {
	r, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	all, err := r.changes(p, o.Force)
	if err != nil {
		return nil, err
	}
	size := atOnce
	if o.DryRun {
		size = max(len(all), 1)
	}
	for some := range slices.Chunk(all, size) {
		r.changedKeys = nil
		err := s.Store.ChangeSlowly(ctx, func(tx *models.Transaction) error {
			err := r.load(tx) // another run may have taken some of it
			for i := 0; i < len(some) && err == nil; i++ {
				err = r.take(&some[i])
			}
			if err == nil && o.DryRun {
				err = errDryRun
			}
			return err
		})
		if errors.Is(err, errDryRun) {
			return &r.Report, nil
		}
		if err != nil {
			return nil, fmt.Errorf("take over: %w", err)
		}
		for i := range r.changedKeys {
			s.Keys.Invalidate(ctx, &r.changedKeys[i])
		}
	}
	if !r.logged {
		return &r.Report, nil
	}
	return &r.Report, s.Store.Change(ctx, func(tx *models.Transaction) error {
		return s.log(tx, "takeover.litellm", &r.Report)
	})
}

// run is one run of a takeover.
type run struct {
	Report
	now         int64
	tx          *models.Transaction
	rows        map[place]models.Takeover // of what was taken, also by former runs
	changedKeys []models.Key
	logged      bool // something was done beside setting what was spent
}

// place is a thing of the other gateway.
type place struct {
	kind      models.TakenKind
	foreignID string
}

func (s *Service) begin(ctx context.Context) (*run, error) {
	r := &run{now: s.Now().UnixMicro()}
	return r, s.Store.Read(ctx, r.load)
}

func (r *run) load(tx *models.Transaction) error {
	all, err := tx.Takeovers()
	r.tx, r.rows = tx, make(map[place]models.Takeover, len(all))
	for _, row := range all {
		r.rows[place{row.Kind, row.ForeignID}] = row
	}
	return err
}

// changes are what of a plan is not as it was taken last, and the keys that are gone there.
func (r *run) changes(p *Plan, force bool) (all []Taken, err error) {
	there := map[string]bool{}
	live, revoked := 0, 0
	for _, t := range p.Taken {
		row, base, err := r.last(&t)
		if err != nil {
			return nil, err
		}
		if t.Kind == models.TakenKey {
			there[t.ForeignID], there[t.Former] = true, true
		}
		if t.Blocked && !base.Blocked && row.ID != "" {
			revoked++
		}
		text, err := t.text()
		if err != nil {
			return nil, err
		}
		if text != row.Taken {
			all = append(all, t)
		}
	}
	for at, row := range r.rows {
		base, err := read(row.Taken)
		if err != nil {
			return nil, err
		}
		if at.kind != models.TakenKey || base.Blocked {
			continue
		}
		live++
		if !there[at.foreignID] {
			revoked++
			base.Kind, base.ForeignID, base.Blocked = at.kind, at.foreignID, true
			all = append(all, base)
		}
	}
	const share = 10
	if revoked*share > live && !force {
		return nil, fmt.Errorf("%d of the %d keys that were taken over are blocked or gone in LiteLLM, and would be revoked here: "+
			"is it the right database? --force does it", revoked, live)
	}
	return all, nil
}

// last is what is known of a thing from former runs, also under the token before a rotation. The row of what is new has no
// ID. t gets what only runs know.
func (r *run) last(t *Taken) (row models.Takeover, base Taken, err error) {
	row, known := r.rows[place{t.Kind, t.ForeignID}]
	if !known && t.Former != "" {
		row = r.rows[place{t.Kind, t.Former}]
	}
	base, err = read(row.Taken)
	t.Linked, t.RevokedAt, t.NameHere = base.Linked, base.RevokedAt, base.NameHere
	return row, base, err
}

// read reads what was taken last.
func read(text string) (t Taken, err error) {
	if text == "" {
		return t, nil
	}
	if err = json.Unmarshal([]byte(text), &t); err != nil {
		err = fmt.Errorf("a row of takeovers: %w", err)
	}
	return t, err
}

func (t *Taken) text() (string, error) {
	text, err := json.Marshal(t, json.Deterministic(true))
	return string(text), err
}

// take makes or changes one thing.
func (r *run) take(t *Taken) error {
	row, base, err := r.last(t)
	if err != nil {
		return err
	}
	if text, err := t.text(); err != nil || text == row.Taken {
		return err
	}
	add, change := r.makeKey, r.changeKey
	switch t.Kind {
	case models.TakenUser:
		add, change = r.makeUser, r.changeUser
	case models.TakenTeam:
		add, change = r.makeTeam, r.changeTeam
	}
	known, revoked := row.ID != "", r.Revoked
	spentOnly := *t
	spentOnly.Spent, spentOnly.SpentDay = base.Spent, base.SpentDay
	same, err := spentOnly.text()
	switch {
	case err != nil || same == row.Taken:
	case !known:
		row.ID, err = add(t)
		r.logged = r.logged || row.ID != ""
	default:
		r.logged = true
		if err = change(row.ID, &base, t); errors.Is(err, models.ErrNotFound) {
			err = nil // deleted here
		}
	}
	if err != nil || row.ID == "" {
		return err
	}
	if known && row.ForeignID != t.ForeignID { // rotated there since the last run
		if err := r.tx.RenameTakeover(&row, t.ForeignID); err != nil {
			return err
		}
	}
	if !t.Linked {
		if err := r.tx.SetTakenSpend(accountOf(t.Kind, row.ID), t.SpentDay, t.Spent); err != nil {
			return err
		}
	}
	switch {
	case !known:
		r.Made++
	case revoked == r.Revoked:
		r.Changed++
	}
	row.Kind, row.ForeignID = t.Kind, t.ForeignID
	if row.Taken, err = t.text(); err != nil {
		return err
	}
	r.rows[place{t.Kind, t.ForeignID}] = row
	return r.tx.SaveTakeover(&row)
}

// accountOf is the account of what a thing has spent.
func accountOf(kind models.TakenKind, id string) string { return models.BudgetKind(kind).Account(id) }

// id is the id here of something that was taken over; empty for what was not.
func (r *run) id(kind models.TakenKind, foreignID string) string {
	return r.rows[place{kind, foreignID}].ID
}

// makeUser adds a user whom an administrator vouches for. A user with this address who is here already is
// taken as they are, if the address is proven to be theirs.
func (r *run) makeUser(t *Taken) (string, error) {
	u, err := r.tx.UserByEmail(t.Email)
	switch {
	case err == nil && u.VerifiedAt == 0:
		r.Kept = append(r.Kept, t.Email+" has an account here whose address is not proven: it gets nothing, and the keys are a team's. "+
			"Have the address verified, or delete the account, before the takeover")
		if t.Limits == (models.Limits{}) {
			return "", nil
		}
		stand := t.standIn()
		return "", r.take(&stand)
	case err == nil:
		t.Linked = true
		r.Kept = append(r.Kept, t.Email+" has an account here: it keeps its limits and rights")
		return u.ID, nil
	case !errors.Is(err, models.ErrNotFound):
		return "", err
	}
	u = &models.User{
		ID: "usr_" + rand.Text(), Email: t.Email, Name: t.Name, CreatedAt: r.created(t), VerifiedAt: r.now, Generation: 1, Limits: t.Limits,
	}
	if t.Admin {
		u.AdminAt = r.now
	}
	return u.ID, r.tx.CreateUser(u)
}

func (r *run) created(t *Taken) int64 { return cmp.Or(t.CreatedAt, r.now) }

func (r *run) makeTeam(t *Taken) (string, error) {
	team := &models.Team{ID: "team_" + rand.Text(), Name: t.Name, CreatedAt: r.created(t), Limits: t.Limits}
	taken, err := r.tx.HasTeam(team.Name)
	if err != nil {
		return "", err
	}
	if taken {
		team.Name += " (LiteLLM " + team.ID[len(team.ID)-4:] + ")"
		t.NameHere = team.Name
	}
	if err := r.tx.CreateTeam(team); err != nil {
		return "", err
	}
	return team.ID, r.members(team.ID, nil, t.Members)
}

// owners are the user and the team here of a key.
func (r *run) owners(t *Taken) (user, team string) {
	user, team = r.id(models.TakenUser, t.UserID), r.id(models.TakenTeam, t.TeamID)
	if user == "" && team == "" {
		team = cmp.Or(r.id(models.TakenTeam, standInPrefix+t.UserID), r.id(models.TakenTeam, ownTeam))
	}
	return user, team
}

func (r *run) makeKey(t *Taken) (string, error) {
	user, team := r.owners(t)
	k := &models.Key{
		ID: auth.NewKeyID(), UserID: user, TeamID: team, Name: t.Name,
		Hash: models.LiteLLMHash + t.ForeignID, Prefix: t.Shown, CreatedAt: r.created(t),
		LimitedBy: models.LimitedByAdmin, Limits: t.Limits,
	}
	r.former(k, t)
	if t.Blocked {
		k.RevokedAt, t.RevokedAt = r.now, r.now
	}
	err := r.tx.CreateKey(k, maxKeys)
	if errors.Is(err, models.ErrNotFound) {
		r.Kept = append(r.Kept, "the key "+k.Name+" is of a user or a team that was deleted here: it is not taken")
		return "", nil
	}
	return k.ID, err
}

// maxKeys is more keys than an owner may have here by other ways.
const maxKeys = 1 << 30

func (r *run) former(k *models.Key, t *Taken) {
	if t.Former != "" {
		k.PreviousHash, k.PreviousExpiresAt = models.LiteLLMHash+t.Former, t.FormerUntil
	}
}
