//go:build unix

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"modelgateway/app/cli"
)

// Roles in which this program starts itself as a child.
const (
	roleGateway  = "scale-gateway"
	roleUpstream = "scale-upstream"
)

// locksVariable is the address at which a gateway serves the profiles of its locks. Only
// this program has them: the gateway as it is shipped has none.
const locksVariable = "SCALE_LOCKS"

// playRole plays the role that the first argument names, until the process is ended. It
// returns false where that names none.
func playRole() bool {
	if len(os.Args) < 2 {
		return false
	}
	switch os.Args[1] {
	case roleGateway:
		if address := os.Getenv(locksVariable); address != "" {
			profileLocks(address)
		}
		os.Args = os.Args[:1]
		cli.Main() // does not return
	case roleUpstream:
		if err := serveUpstream(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		return false
	}
	return true
}

// profileLocks records every wait for a lock, and serves what it has at the address.
func profileLocks(address string) {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		profile := pprof.Lookup(r.URL.Path[1:])
		if profile == nil {
			http.NotFound(w, r)
			return
		}
		_ = profile.WriteTo(w, 1) // a reader that goes away has seen enough
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until the process ends
}
