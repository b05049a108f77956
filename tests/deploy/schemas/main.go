// Command schemas writes the JSON schemas with which the tests validate the chart's manifests: those of
// Kubernetes from its OpenAPI document, those of the Gateway API and of the Prometheus operator from their
// CustomResourceDefinitions. All three come from the projects' modules. `make schemas` runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The releases of the schemas.
const (
	kubernetes = "k8s.io/kubernetes@v1.37.0"
	gatewayAPI = "sigs.k8s.io/gateway-api@v1.5.1"
	operator   = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

type object = map[string]any

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: schemas FOLDER")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(folder string) error {
	if err := writeBuiltIn(folder); err != nil {
		return err
	}
	for name, file := range map[string][2]string{
		"httproute-gateway-v1.json":         {gatewayAPI, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
		"servicemonitor-monitoring-v1.json": {operator, "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"},
	} {
		if err := writeCustom(folder, name, file[0], file[1]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// writeBuiltIn writes the schemas of Kubernetes' own kinds, each with the definitions that it uses.
func writeBuiltIn(folder string) error {
	text, err := read(kubernetes, "api/openapi-spec/swagger.json")
	if err != nil {
		return err
	}
	var document struct{ Definitions map[string]object }
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	all := document.Definitions
	for name, definition := range all {
		tighten(definition)
		switch name {
		case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
			all[name] = object{"type": []string{"string", "integer"}}
		case "io.k8s.apimachinery.pkg.api.resource.Quantity":
			all[name] = object{"type": []string{"string", "number"}}
		}
	}
	for name, kind := range map[string]string{
		"deployment-apps-v1": "apps.v1.Deployment", "service-v1": "core.v1.Service", "configmap-v1": "core.v1.ConfigMap",
		"secret-v1": "core.v1.Secret", "serviceaccount-v1": "core.v1.ServiceAccount",
		"poddisruptionbudget-policy-v1":          "policy.v1.PodDisruptionBudget",
		"horizontalpodautoscaler-autoscaling-v2": "autoscaling.v2.HorizontalPodAutoscaler",
		"networkpolicy-networking-v1":            "networking.v1.NetworkPolicy", "ingress-networking-v1": "networking.v1.Ingress",
	} {
		full := "io.k8s.api." + kind
		if all[full] == nil {
			return fmt.Errorf("%s has no %s", kubernetes, full)
		}
		used := object{}
		collect(all, full, used)
		if err := save(folder, name+".json", object{"$ref": reference + full, "definitions": used}); err != nil {
			return err
		}
	}
	return nil
}

const reference = "#/definitions/"

// collect adds a definition and all that it uses.
func collect(all map[string]object, name string, used object) {
	if used[name] != nil {
		return
	}
	used[name] = all[name]
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case object:
			if target, ok := v["$ref"].(string); ok {
				collect(all, strings.TrimPrefix(target, reference), used)
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(all[name])
}

// writeCustom writes the schema of version v1 of a CustomResourceDefinition.
func writeCustom(folder, name, module, file string) error {
	text, err := read(module, file)
	if err != nil {
		return err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					Schema object `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return err
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == "v1" {
			tighten(version.Schema.Schema)
			return save(folder, name, version.Schema.Schema)
		}
	}
	return fmt.Errorf("there is no version v1")
}

// tighten refuses unknown members, as the API server does of kubectl, and removes what a validator does not use.
func tighten(v any) {
	switch v := v.(type) {
	case object:
		for _, name := range []string{"description", "example"} {
			if _, ok := v[name].(string); ok {
				delete(v, name)
			}
		}
		for name := range v {
			if strings.HasPrefix(name, "x-kubernetes-") {
				delete(v, name)
			}
		}
		if _, ok := v["properties"].(object); ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			tighten(member)
		}
	case []any:
		for _, item := range v {
			tighten(item)
		}
	}
}

// read returns a file of a module.
func read(module, file string) ([]byte, error) {
	out, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", module).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(found.Dir, filepath.FromSlash(file)))
}

func save(folder, name string, schema object) error {
	text, err := json.Marshal(schema) // with sorted members
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), append(text, '\n'), 0o644)
}
