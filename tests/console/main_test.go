// Package console opens the web console in a real browser, over the running program.
//
// A test is a person's way through a page:
//
//	eachRoot(t, func(t *testing.T, p *page) {
//		p.visit("/keys")
//		p.click("Create key")
//		p.fill("Name", "support-bot")
//		p.see("Copy your key now")
//		p.inspect("keys-created")
//	})
//
// A console error, an exception and a violation of the Content-Security-Policy fail the test
// of each page; inspect takes a screenshot and looks for barriers and sideways scrolling.
package console

import (
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Two browsers at once are enough for two processors.
func TestMain(m *testing.M) { gatewaytest.Main(m, 2) }
