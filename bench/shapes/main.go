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
	"runtime"
	"strconv"
	"strings"

	"modelgateway/bench/child"
	"modelgateway/bench/pages"
)

// options are the flags.
type options struct {
	gateway  string // a built binary
	only     *regexp.Regexp
	sizes    []int // MiB, rising
	markdown string
}

func main() {
	runtime.LockOSThread() // children end with the thread that started them
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	child.Run(func(ctx context.Context) error { return run(ctx, o) })
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("shapes", flag.ContinueOnError)
	flags.StringVar(&o.gateway, "gateway", "", "a built `binary`; when empty it is built from the working directory")
	only := flags.String("only", "", "`regexp` over the names of the shapes")
	sizes := flags.String("sizes", "1,4,8,16,32", "sizes of the bodies in `MiB`, rising")
	flags.StringVar(&o.markdown, "md", "", "`page` whose part between "+pages.Begin(pagePart)+" and "+pages.End(pagePart)+" is replaced")
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
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

func run(ctx context.Context, o options) error {
	m, err := newMeter(o)
	if err != nil {
		return err
	}
	defer m.close()
	rows, err := m.measure(ctx)
	if err != nil {
		return err
	}
	fmt.Println(table(rows))
	if o.markdown != "" {
		if err := pages.Rewrite(o.markdown, pagePart, []byte(table(rows))); err != nil {
			return err
		}
	}
	return verdict(rows)
}
