// Command bench measures the gateway beside a bare passthrough, in the same run: a scripted
// upstream, both targets alternately, and a load generator that verifies every answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

// options are the flags.
type options struct {
	rounds          int
	window          time.Duration
	only            *regexp.Regexp
	quick           bool
	markdown        string
	gateway, beside string // built binaries
	upstream        string // where the scripted upstream listens
	peers           []string
}

func main() {
	// The checks should cost little: with this percentage the collector runs rarely.
	debug.SetGCPercent(400)
	rig.Main(rig.Roles{floorName: floor}, func(ctx context.Context) error {
		o, err := parse(os.Args[1:])
		if err != nil {
			return err
		}
		return run(ctx, o)
	})
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 11, "how often everything is measured, in turn")
	flags.DurationVar(&o.window, "window", time.Second, "how long each measurement takes, after 1 s of warm-up")
	only := flags.String("only", "", "`regexp` over the names of the scenarios")
	flags.BoolVar(&o.quick, "quick", false, "two rounds, and smaller numbers")
	flags.StringVar(&o.markdown, "md", "", "`page` whose part between <!-- bench --> and <!-- /bench --> is replaced")
	flags.StringVar(&o.gateway, "gateway", "", "a built `binary`; when empty it is built from the source")
	flags.StringVar(&o.beside, "beside", "", "`binary` of another version, which is measured in the same rounds")
	flags.StringVar(&o.upstream, "upstream", "",
		"`address` of the scripted upstream, for peers that have to know it; when empty a free port")
	flags.Func("peer", "`name=host:port` of another gateway; also from PEER, its key and model from PEER_KEY and PEER_MODEL",
		func(peer string) error {
			o.peers = append(o.peers, peer)
			return nil
		})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if len(o.peers) == 0 {
		o.peers = strings.Fields(os.Getenv("PEER"))
	}
	if o.quick {
		o.rounds, o.window = min(o.rounds, 2), min(o.window, time.Second)
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

// run makes the requested measurements, and prints the results also when it was interrupted.
func run(ctx context.Context, o options) error {
	b := &bench{options: o, ctx: ctx, client: rig.NewTransport(), section: rig.NewSection("bench")}
	defer b.close()
	if err := b.start(); err != nil {
		return err
	}
	measuring := b.measure()
	b.report()
	if measuring != nil {
		return errors.Join(measuring, b.section.Write(""))
	}
	if err := b.section.Write(o.markdown); err != nil {
		return err
	}
	if b.failed > 0 {
		return fmt.Errorf("%d measurements had errors", b.failed)
	}
	return nil
}
