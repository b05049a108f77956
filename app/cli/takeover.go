package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/services/litellm"
	"modelgateway/services/takeover"
)

// The files that a takeover writes.
const (
	modelsFile   = "litellm-models.yaml"
	settingsFile = "litellm.env"
	undoFile     = "litellm-undo-20060102T150405.000.sh" // of the time, as time.Format writes it
)

// followEvery is how often a followed LiteLLM is read.
const followEvery = 10 * time.Second

// errLosses ends a takeover with exitLosses.
var errLosses = errors.New("nothing was written, since what is listed would be lost: --accept-losses takes the rest over")

// takingOver are the flags of a takeover.
type takingOver struct {
	from, config, dir    string
	months, audit        int
	dryRun, accept       bool
	force, follow        bool
	undo, forget, filled bool
	environ              []string
	shown                map[litellm.Loss]bool // losses, by former runs of --follow
}

func (p *Program) takeover() *cobra.Command {
	t := takingOver{environ: p.Environ, shown: map[litellm.Loss]bool{}}
	c := &cobra.Command{
		Use: "litellm --from postgres://…", Short: "Take over the keys, people, budgets, usage and models of a LiteLLM",
		Long: `Take over a LiteLLM: its keys work here as they are, with their owners, limits and what
is spent of their budgets. Its database is only read. What cannot be taken is listed
before anything is written; then nothing is, and the exit code is 3, without
--accept-losses. A second run takes what has changed since. docs/litellm.md has the steps.`,
		Example: `  modelgateway takeover litellm --from "$LITELLM_DATABASE_URL" --config config.yaml --dry-run
  modelgateway takeover litellm --from "$LITELLM_DATABASE_URL" --audit 30
  modelgateway takeover litellm --undo`,
	}
	o := p.output(c, "")
	f := c.Flags()
	f.StringVar(&t.from, "from", "", "address of LiteLLM's database, as in its DATABASE_URL; LITELLM_DATABASE_URL without it")
	f.StringVar(&t.config, "config", "", "LiteLLM's config.yaml")
	f.StringVar(&t.dir, "out", ".", "directory for the files that are written")
	f.IntVar(&t.months, "months", 3, "how many months of usage are taken")
	f.IntVar(&t.audit, "audit", 0, "only price the calls of so many days again, and compare with what was booked")
	f.BoolVar(&t.dryRun, "dry-run", false, "show what would be done, and write nothing")
	f.BoolVar(&t.accept, "accept-losses", false, "go on though something cannot be taken")
	f.BoolVar(&t.force, "force", false, "revoke keys even if they are more than a tenth")
	f.BoolVar(&t.follow, "follow", false, "go on every ten seconds until Ctrl-C, and once more then")
	f.BoolVar(&t.undo, "undo", false, "write a script of calls to LiteLLM with what has changed here since")
	f.BoolVar(&t.forget, "forget", false, "with --undo: then remove what was taken over")
	c.MarkFlagsMutuallyExclusive("audit", "undo", "follow", "dry-run")
	return p.group("takeover", "Take over another gateway", p.action(c, func(ctx context.Context, args []string) error {
		if t.audit > 0 {
			return o.auditBill(ctx, t)
		}
		return p.writes(o, func(ctx context.Context, s *session, _ []string) error {
			of := &takeover.Service{Store: s.Store, Keys: s.Keys, Now: time.Now}
			switch {
			case t.undo:
				return s.goBack(ctx, of, t)
			case t.forget:
				return errors.New("--forget needs --undo")
			case t.follow:
				return s.follow(ctx, of, t)
			}
			return s.takeOver(ctx, of, t)
		})(ctx, args)
	}))
}

func (t *takingOver) env(name string) string {
	for _, setting := range slices.Backward(t.environ) {
		if value, ok := strings.CutPrefix(setting, name+"="); ok {
			return value
		}
	}
	return ""
}

func (t *takingOver) open(ctx context.Context) (*litellm.Database, error) {
	return litellm.Open(ctx, cmp.Or(t.from, t.env("LITELLM_DATABASE_URL")))
}

// takeOver is one run.
func (s *session) takeOver(ctx context.Context, of *takeover.Service, t takingOver) error {
	db, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	now := time.Now()
	since := now.AddDate(0, -t.months, 0)
	if t.filled { // this process has taken the days before
		since = now.AddDate(0, 0, -1)
	}
	snapshot, err := db.Read(ctx, since)
	if err != nil {
		return err
	}
	var file []byte
	if t.config != "" {
		if file, err = os.ReadFile(t.config); err != nil {
			return err
		}
	}
	conf, err := litellm.Configure(file, snapshot, t.env)
	if err != nil {
		return err
	}
	plan := takeover.Make(snapshot, conf.Groups, now)
	if err := plan.Unpriced(conf); err != nil {
		return err
	}
	lost := s.showLosses(slices.Concat(conf.Losses, plan.Losses), t.shown) && !t.accept
	if lost && !t.dryRun {
		return errLosses
	}
	report, err := of.Take(ctx, plan, takeover.Options{DryRun: t.dryRun, Force: t.force})
	if err != nil {
		return err
	}
	for _, kept := range report.Kept {
		s.note("kept  %s", api.Visible(kept))
	}
	done := fmt.Sprintf("%d new, %d changed, %d keys revoked", report.Made, report.Changed, report.Revoked)
	if t.dryRun {
		err := s.show(report, func() error { return s.say("would be: %s; nothing was written", done) })
		if lost {
			err = errors.Join(err, errLosses)
		}
		return err
	}
	if err := of.TakeUsage(ctx, plan); err != nil {
		return err
	}
	if !t.filled {
		if err := s.keepFile(filepath.Join(t.dir, modelsFile), conf.ModelsFile); err != nil {
			return err
		}
		if err := s.keepFile(filepath.Join(t.dir, settingsFile), conf.Settings); err != nil {
			return err
		}
		for _, secret := range conf.Secrets {
			if !secret.Set {
				s.note("set   %s to %s", secret.Name, secret.Where)
			}
		}
	}
	return s.show(report, func() error { return s.say("taken over: %s", done) })
}

// showLosses prints a line for each that was not shown before, and says whether something is lost.
func (s *session) showLosses(all []litellm.Loss, shown map[litellm.Loss]bool) (lost bool) {
	for _, l := range all {
		lost = lost || !l.Notice
		if shown[l] {
			continue
		}
		shown[l] = true
		word := "lost "
		if l.Notice {
			word = "note "
		}
		line := word + " " + l.Thing + ": " + l.Why
		if l.Instead != "" {
			line += "; " + l.Instead
		}
		_, _ = fmt.Fprintln(s.err, api.Visible(line))
	}
	return lost
}

func (s *session) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format+"\n", args...)
	return err
}

// keepFile writes a file, unless there is one with another text: it may have been edited.
func (s *session) keepFile(path, text string) error {
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, []byte(text)):
		return nil
	case err == nil:
		path += ".new"
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	const private = 0o600
	if err := os.WriteFile(path, []byte(text), private); err != nil {
		return err
	}
	s.note("wrote %s", path)
	return nil
}

// follow takes over again and again until ctx ends, and then for the last time.
func (s *session) follow(ctx context.Context, of *takeover.Service, t takingOver) error {
	if err := s.takeOver(ctx, of, t); err != nil {
		return err
	}
	t.filled = true
	for {
		select {
		case <-time.After(followEvery):
			if err := s.takeOver(ctx, of, t); err != nil && ctx.Err() == nil {
				s.note("tries again: %v", err)
			}
		case <-ctx.Done():
			return s.takeOver(context.WithoutCancel(ctx), of, t)
		}
	}
}

func (s *session) goBack(ctx context.Context, of *takeover.Service, t takingOver) error {
	written := false
	kept, err := of.Undo(ctx, func(script string) error {
		written = true
		return s.keepFile(filepath.Join(t.dir, time.Now().UTC().Format(undoFile)), script)
	})
	if err != nil {
		return err
	}
	if !written {
		s.note("LiteLLM needs no change: nothing was changed here since")
	}
	for _, line := range kept {
		s.note("by hand: %s", api.Visible(line))
	}
	if !t.forget {
		return nil
	}
	keys, err := of.Forget(ctx)
	if err != nil {
		return err
	}
	return s.done(map[string]int{"keys": keys}, fmt.Sprintf("%d keys are no longer known here", keys))
}

// auditBill prints what LiteLLM booked beside what its calls cost.
func (o *output) auditBill(ctx context.Context, t takingOver) error {
	cfg, err := app.Settings(t.environ)
	if err != nil {
		return err
	}
	db, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	prices, err := takeover.Prices(cfg.ModelsFile)
	if err != nil {
		return err
	}
	bill, err := takeover.Audit(ctx, db, prices, t.audit, time.Now())
	if err != nil {
		return err
	}
	return o.show(bill, func() error {
		var rows [][]string
		var add func(depth int, b takeover.BillItem, priced bool)
		add = func(depth int, b takeover.BillItem, priced bool) {
			row := []string{strings.Repeat("  ", depth) + b.Name, thousands(b.Calls), microDollars(b.Booked), none, none}
			if priced {
				row[3], row[4] = microDollars(b.Should), microDollars(b.Difference)
			}
			rows = append(rows, row)
			for _, part := range b.Parts {
				add(depth+1, *part, priced)
			}
		}
		for _, model := range bill.Priced.Parts {
			add(0, *model, true)
		}
		for _, model := range bill.Unpriced.Parts {
			add(0, *model, false)
		}
		bill.Priced.Name, bill.Priced.Parts = "all that has a price", nil
		bill.Unpriced.Name, bill.Unpriced.Parts = "all without a price here", nil
		add(0, bill.Priced, true)
		add(0, bill.Unpriced, false)
		return o.table([]string{"MODEL", "CALLS", "BOOKED USD", "SHOULD BE USD", "DIFFERENCE USD"}, rows)
	})
}
