package gatewaytest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Operations are those of the OpenAPI document, as in GET /v1/models/{id}, in order.
func Operations(t testing.TB) (all []string) {
	t.Helper()
	text, err := os.ReadFile(File(t, "web/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method := range methods {
			if slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}
