// Command scale measures how what the gateway costs grows: with replicas, calls, keys and
// rows of the ledger. It starts the real gateway several times on one PostgreSQL and one
// Redis, and reads from the operating system what each of them uses.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

// options are the flags.
type options struct {
	only     *regexp.Regexp
	gateway  string // a built binary
	markdown string
	quick    bool

	replicas           []int
	rates              []int // calls a second
	window             time.Duration
	keys, users, teams int

	rows    int           // of the ledger
	longest time.Duration // of a load of the ledger
}

func main() {
	rig.Main(rig.Roles{}, func(ctx context.Context) error {
		o, err := parse(os.Args[1:])
		if err != nil {
			return err
		}
		return run(ctx, o)
	})
}

func parse(args []string) (o options, err error) {
	o.replicas, o.rates = []int{1, 2, 4, 8}, []int{500, 2000}
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := flags.String("only", "", "`regexp` over the names of the parts: "+strings.Join(partNames(), ", "))
	flags.StringVar(&o.gateway, "gateway", "", "a built `binary`; when empty it is built from the source")
	flags.StringVar(&o.markdown, "md", "", "`page` whose marked parts are replaced by those that were measured")
	flags.BoolVar(&o.quick, "quick", false, "all parts in small: figures of no use, in half a minute")
	flags.DurationVar(&o.window, "window", 5*time.Second, "how long each cost of calls is measured, after 1 s of warm-up")
	flags.IntVar(&o.keys, "keys", 100_000, "keys of the loaded store")
	flags.IntVar(&o.users, "users", 10_000, "users of the loaded store")
	flags.IntVar(&o.teams, "teams", 1_000, "teams of the loaded store")
	flags.IntVar(&o.rows, "rows", 10_000_000, "rows of the ledger that its own writer inserts, on each database")
	flags.DurationVar(&o.longest, "longest", 15*time.Minute,
		"longest `time` of one load of the ledger: it stops there, and the page says how far it came")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.replicas, o.rates, o.window = []int{1, 2}, []int{50, 100}, 500*time.Millisecond
		o.keys, o.users, o.teams = 200, 20, 5
		o.rows, o.longest = 6000, 5*time.Second
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

// part is one measurement, which has a section of the page.
type part struct {
	name    string
	measure func(ctx context.Context, s *system, to *rig.Section) error
}

// parts are measured one after the other on one system.
func parts() []part {
	return []part{{"calls", calls}, {"idle", idle}, {"store", store}, {"ledger", ledgers}}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// run measures the parts that were asked for. Each is written when it is done, so that a
// run that is interrupted leaves the parts before.
func run(ctx context.Context, o options) error {
	s, err := newSystem(ctx, o)
	defer s.close()
	if err != nil {
		return err
	}
	var version string
	if err := s.admin.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return err
	}
	for _, p := range parts() {
		if !o.only.MatchString(p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", p.name)
		to := rig.NewSection("scale:"+p.name, "PostgreSQL "+version)
		if err := p.measure(ctx, s, to); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if n := s.repeated.Swap(0); n > 0 {
			to.Say("%d calls were answered with 503 and repeated: the machine had other work.", n)
		}
		if err := to.Write(o.markdown); err != nil {
			return err
		}
	}
	return nil
}
