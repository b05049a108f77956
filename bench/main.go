// Command bench measures the gateway beside a bare passthrough, in the same
// run: a scripted upstream, both targets alternately, and a load generator that
// verifies every answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"modelgateway/bench/child"
	"modelgateway/bench/pages"
)

// options are the flags.
type options struct {
	rounds              int
	window              time.Duration
	only                *regexp.Regexp
	quick               bool
	json, markdown, svg string
	gateway             string // a built binary
	upstream            string // where the scripted upstream listens
	peers               []string
}

func main() {
	runtime.LockOSThread() // children end with the thread that started them
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "bench-") {
		if err := play(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	// The checks should cost little: with this percentage the collector runs
	// rarely.
	debug.SetGCPercent(400)
	child.Run(func(ctx context.Context) error { return run(ctx, o) })
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 11, "how often everything is measured, in turn")
	flags.DurationVar(&o.window, "window", time.Second, "how long each measurement takes, after 1 s of warm-up")
	only := flags.String("only", "", "`regexp` over the names of the scenarios")
	flags.BoolVar(&o.quick, "quick", false, "two rounds with windows of 1 s, and smaller numbers")
	flags.StringVar(&o.json, "json", "", "`file` to write the results to")
	flags.StringVar(&o.markdown, "md", "", "`page` whose part between "+pages.Begin(pagePart)+" and "+pages.End(pagePart)+" is replaced")
	flags.StringVar(&o.svg, "svg", "", "`file` to draw the ratios into")
	flags.StringVar(&o.gateway, "gateway", "", "a built `binary`; when empty it is built from the working directory")
	flags.StringVar(&o.upstream, "upstream", "127.0.0.1:0", "where the scripted upstream listens, for peers that have to know")
	flags.Func(
		"peer",
		"`name=url` of another gateway, its /v1 included; also from PEER, its key and model from PEER_KEY and PEER_MODEL",
		func(peer string) error {
			o.peers = append(o.peers, peer)
			return nil
		},
	)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if peer := os.Getenv("PEER"); peer != "" && len(o.peers) == 0 {
		o.peers = strings.Fields(peer)
	}
	if o.quick {
		o.rounds, o.window = min(o.rounds, 2), min(o.window, time.Second)
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

// run makes the requested measurements, and prints the results also when it was
// interrupted.
func run(ctx context.Context, o options) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	measuring := b.measure()
	fmt.Printf("%s\n%s\n", b.report.text(), b.report.Conditions.sentence())
	if measuring != nil {
		return measuring
	}
	if err := b.report.write(o); err != nil {
		return err
	}
	if len(b.report.Errors) > 0 {
		return fmt.Errorf("%d measurements had errors", len(b.report.Errors))
	}
	return nil
}
