package takeover

import (
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m, gatewaytest.Waiting) }
