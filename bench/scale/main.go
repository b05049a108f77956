//go:build unix

// Command scale measures how what the gateway costs grows: with replicas, calls,
// processors, keys and rows of the ledger. It starts the real gateway several times on one
// PostgreSQL and one Redis, and reads from the operating system what each of them uses.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"modelgateway/bench/child"
)

// options are the flags.
type options struct {
	only     *regexp.Regexp
	markdown string
	quick    bool

	replicas           []int
	rates              []int // calls a second
	window             time.Duration
	keys, users, teams int
	revocations        int

	rows      int           // of the ledger, loaded call by call
	bulkBytes int64         // of the ledger, loaded in bulk
	longest   time.Duration // of a part that loads or deletes
}

func main() {
	runtime.LockOSThread() // children end with the thread that started them
	if playRole() {
		return
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	child.Run(func(ctx context.Context) error { return run(ctx, o) })
}

func parse(args []string) (options, error) {
	o := options{replicas: []int{1, 2, 4, 8}, rates: []int{500, 1000, 2000}}
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := flags.String("only", "", "`regexp` over the names of the parts: "+partNames())
	flags.StringVar(&o.markdown, "md", "", "`page` whose marked parts are replaced by those that were measured")
	flags.BoolVar(&o.quick, "quick", false, "all parts in small: figures of no use, in half a minute")
	flags.DurationVar(&o.window, "window", 5*time.Second, "how long each cost of calls is measured, after 1 s of warm-up")
	flags.IntVar(&o.keys, "keys", 100_000, "keys of the loaded store")
	flags.IntVar(&o.users, "users", 10_000, "users of the loaded store")
	flags.IntVar(&o.teams, "teams", 1_000, "teams of the loaded store")
	flags.IntVar(&o.revocations, "revocations", 20, "how many keys are revoked")
	flags.IntVar(&o.rows, "rows", 10_000_000, "rows of the ledger that its own writer inserts, on each database")
	gigabytes := flags.Int64("bulk", 20, "`gigabytes` that the ledger of PostgreSQL is filled up to with COPY; 0 is off")
	flags.DurationVar(&o.longest, "longest", 15*time.Minute,
		"longest `time` of one load of the ledger: it stops there, and the page says how far it came")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.bulkBytes = *gigabytes << 30
	if o.quick {
		o.small()
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

// small makes every part short: it shows that they work.
func (o *options) small() {
	o.replicas, o.rates, o.window = []int{1, 2}, []int{50, 100}, 500*time.Millisecond
	o.keys, o.users, o.teams, o.revocations = 200, 20, 5, 2
	o.rows, o.bulkBytes, o.longest = 6000, 8<<20, 5*time.Second
}

// most is the greatest number of replicas.
func (o *options) most() int { return o.replicas[len(o.replicas)-1] }
