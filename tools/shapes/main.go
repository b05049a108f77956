// Command shapes measures what one request can cost: it sends each form that a
// body can have to a fresh gateway, and reads how much its memory rose and how
// much processor time it took, from the operating system.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"modelgateway/tools/rig"
)

// options are the flags.
type options struct {
	gateway  string // a built binary
	only     *regexp.Regexp
	sizes    []int // MiB, rising
	markdown string
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
	flags := flag.NewFlagSet("shapes", flag.ContinueOnError)
	flags.StringVar(&o.gateway, "gateway", "", "a built `binary`; when empty it is built from the source")
	only := flags.String("only", "", "`regexp` over the names of the shapes")
	sizes := flags.String("sizes", "1,4,8,16,32", "sizes of the bodies in `MiB`, rising")
	flags.StringVar(&o.markdown, "md", "", "`page` whose part between <!-- shapes --> and <!-- /shapes --> is replaced")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for _, text := range strings.Split(*sizes, ",") {
		mib, err := strconv.Atoi(text)
		if err != nil || mib < 1 || mib > 32 {
			fmt.Fprintln(os.Stderr, "sizes are whole numbers from 1 to 32")
			return o, cmp.Or(err, flag.ErrHelp)
		}
		o.sizes = append(o.sizes, mib)
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, o options) error {
	to := rig.NewSection("shapes")
	m := &meter{options: o}
	defer m.close()
	if err := m.start(ctx); err != nil {
		return err
	}
	rows, err := m.measure(ctx)
	if err != nil {
		return err
	}
	table(to, rows)
	if err := to.Write(o.markdown); err != nil {
		return err
	}
	return verdict(rows)
}
