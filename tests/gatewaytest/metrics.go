package gatewaytest

import (
	"bufio"
	"strconv"
	"strings"
	"testing"
)

// ParseMetrics parses /metrics into values by name with labels.
func ParseMetrics(t *testing.T, text string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(text)) //nolint:forbidigo // our own short lines
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok || strings.HasPrefix(name, "#") {
			name, value, ok = strings.Cut(lines.Text(), " ")
		} else {
			name += "}"
		}
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	return all
}
