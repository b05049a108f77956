package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"modelgateway/bench/pages"
)

// conditions are what the figures depend on.
type conditions struct {
	Date       string `json:"date"`
	Revision   string `json:"revision"` // of the source; with + when it was changed since
	Go         string `json:"go"`
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Kernel     string `json:"kernel"`
	Rounds     int    `json:"rounds"`
	Window     string `json:"window"`
	Gateway    string `json:"gateway"` // which binary

	// Others is the share of the machine that went to processes which are no
	// part of it, one for each closed-loop measurement.
	Others []float64 `json:"others"`
}

func describe(o options) conditions {
	c := conditions{
		Date: time.Now().UTC().Format(time.DateOnly), Revision: pages.Revision(), Go: runtime.Version(),
		CPU: pages.Processor(), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		Rounds: o.rounds, Window: o.window.String(), Gateway: "built from this source",
	}
	if o.gateway != "" {
		c.Gateway = "a given binary"
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		c.Kernel = strings.TrimSpace(string(kernel))
	}
	return c
}

func (c conditions) sentence() string {
	return fmt.Sprintf(
		"%s, revision %s (gateway %s), %s, Linux %s, %d × %s, GOMAXPROCS %d; %d rounds with windows of %s after 1 s of warm-up; "+
			"upstream, load generator and target share the machine over loopback%s.",
		c.Date, c.Revision, c.Gateway, c.Go, c.Kernel, c.CPUs, c.CPU, c.GOMAXPROCS, c.Rounds, c.Window, c.others(),
	)
}

func (c conditions) others() string {
	if len(c.Others) == 0 {
		return ""
	}
	return fmt.Sprintf("; other processes took %.0f %% of it in the median, %.0f %% at worst", 100*median(c.Others),
		100*slices.Max(c.Others))
}
