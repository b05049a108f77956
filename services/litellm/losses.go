package litellm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Loss is something of a LiteLLM that is not taken over as it is.
type Loss struct {
	Thing   string // which of it
	Why     string
	Instead string // what to do

	Notice bool // nothing is lost by it, but it is worth knowing
}

// nothing is why most of it is lost.
const nothing = "the gateway has nothing like them"

// losses lists what is only in tables that this gateway has nothing for.
func losses(ctx context.Context, r *reading) (all []Loss) {
	for _, of := range remedies() {
		for _, table := range strings.Fields(of.tables) {
			if !r.has(ctx, table) {
				continue
			}
			var n int64
			r.err = r.tx.QueryRow(ctx, `SELECT COUNT(*) FROM "LiteLLM_`+table+`" WHERE `+cmp.Or(of.where, "true")).Scan(&n)
			if n > 0 {
				all = append(all, Loss{fmt.Sprintf("%s: %d in LiteLLM_%s", of.thing, n, table), nothing, of.instead, of.notice})
			}
		}
	}
	return all
}

// Losses gathers losses. Those that are alike become one, with all that they are about.
type Losses struct {
	order []Loss
	about map[Loss][]string
}

// Lose adds something that is lost. Without a thing what it is about is the thing.
func (l *Losses) Lose(about, thing, why, instead string) {
	l.add(about, Loss{thing, why, instead, false})
}

// Note adds a Notice.
func (l *Losses) Note(about, thing, why, instead string) {
	l.add(about, Loss{thing, why, instead, true})
}

func (l *Losses) add(about string, of Loss) {
	if l.about == nil {
		l.about = map[Loss][]string{}
	}
	if l.about[of] == nil {
		l.order = append(l.order, of)
	}
	if !slices.Contains(l.about[of], about) {
		l.about[of] = append(l.about[of], about)
	}
}

// List is all of them.
func (l *Losses) List() (all []Loss) {
	const shown = 20
	for _, of := range l.order {
		about := l.about[of]
		names := strings.Join(about[:min(shown, len(about))], ", ")
		if len(about) > shown {
			names += fmt.Sprintf(" and %d more", len(about)-shown)
		}
		if of.Thing != "" {
			names = of.Thing + ": " + names
		}
		of.Thing = names
		all = append(all, of)
	}
	return all
}
