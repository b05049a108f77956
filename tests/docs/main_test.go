// Package docs tests the commands that the documents print.
package docs

import (
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m, 0) }
