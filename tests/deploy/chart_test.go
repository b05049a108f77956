package deploy

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/providers/all"
	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite deploy/kubernetes/modelgateway.yaml")

// defaults are the manifests of the default values.
var defaults = []string{"ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"}

// table is values with the kinds that are rendered besides the defaults' and texts that the manifests contain.
func table() map[string]struct {
	values, more, without string
	contains              []string
} {
	return map[string]struct {
		values, more, without string
		contains              []string
	}{
		"defaults": {},
		"one replica without Redis": {
			values: "{replicas: 1, redis: {enabled: false}, podDisruptionBudget: {enabled: false}}", without: "PodDisruptionBudget",
			contains: []string{"replicas: 1\n"},
		},
		"secrets of operators": {
			values:   "{existingSecret: own, database: {secret: pg-app, key: uri}, redis: {secret: redis-app, key: url}}",
			contains: []string{"name: pg-app\n                  key: uri\n", "name: redis-app\n                  key: url\n", "secretRef: {name: own}"},
		},
		"autoscaling": {
			values: "{autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 30, callsInFlight: 200}}", more: "HorizontalPodAutoscaler",
			contains: []string{"minReplicas: 3", "maxReplicas: 30", `averageValue: "200"`},
		},
		"network policy for all": {
			values: "{networkPolicy: {enabled: true}}", more: "NetworkPolicy", contains: []string{"{protocol: TCP, port: 5432}", "{protocol: UDP, port: 53}"},
		},
		"network policy for some": {
			values: `{networkPolicy: {enabled: true, egressPorts: [443, 11434], from: [{namespaceSelector: {matchLabels: {team: ai}}},
				{ipBlock: {cidr: 10.0.0.0/8}}]}}`,
			more: "NetworkPolicy", contains: []string{"port: 11434", "team: ai", "cidr: 10.0.0.0/8"},
		},
		"monitoring":                 {values: "{serviceMonitor: {enabled: true, labels: {release: prometheus}}}", more: "ServiceMonitor", contains: []string{"release: prometheus", "credentials: {name: modelgateway, key: METRICS_TOKEN}"}},
		"monitoring without a token": {values: `{serviceMonitor: {enabled: true, tokenKey: ""}}`, more: "ServiceMonitor"},
		"ingress": {
			values: "{ingress: {enabled: true, host: ai.example.org, tlsSecret: tls}}", more: "Ingress",
			contains: []string{"hosts: [ai.example.org]", "proxy-body-size: 32m", `proxy-buffering: "off"`, `proxy-read-timeout: "660"`, "secretName: tls"},
		},
		"ingress of another controller": {
			values: `{ingress: {enabled: true, className: "", tlsSecret: "", annotations: {nginx.ingress.kubernetes.io/proxy-body-size: null}}}`,
			more:   "Ingress",
		},
		"route of the Gateway API": {
			values: "{httpRoute: {enabled: true, parentRefs: [{name: web, namespace: gateways, sectionName: https}], hostnames: [a.example.org]}}",
			more:   "HTTPRoute", contains: []string{"timeouts: {request: 0s, backendRequest: 0s}", "sectionName: https", "- a.example.org"},
		},
		"models file": {
			values:   "modelsFile: |\n  models:\n    - {id: fast, provider: anthropic, upstream: claude-haiku-4-5}\n",
			contains: []string{"MODELS_FILE, value: /etc/modelgateway/models.yaml", "    models:\n      - {id: fast,", "mountPath: /etc/modelgateway"},
		},
		"placement": {
			values: `{nodeSelector: {pool: web}, tolerations: [{key: web, operator: Exists}], priorityClassName: high, podLabels: {team: ai},
				podAnnotations: {note: "1"}, topologySpread: {whenUnsatisfiable: DoNotSchedule}, image: {pullSecrets: [registry]},
				affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm:
				{topologyKey: kubernetes.io/hostname}}]}}, podDisruptionBudget: {maxUnavailable: 25%}}`,
			contains: []string{"pool: web", "priorityClassName: high", "whenUnsatisfiable: DoNotSchedule", "- name: registry", "maxUnavailable: 25%"},
		},
		"service and account": {
			values: `{service: {type: LoadBalancer, port: 8443, annotations: {a: b}}, serviceAccount: {create: false, name: other}}`, without: "ServiceAccount",
			contains: []string{"type: LoadBalancer", "port: 8443", "serviceAccountName: other"},
		},
		"longer drain": {
			values: `{settings: {SHUTDOWN_GRACE_SECONDS: "600"}, preStopSeconds: 10}`, contains: []string{"terminationGracePeriodSeconds: 640"},
		},
		"nothing before SIGTERM": {values: `{preStopSeconds: 0, goMemLimit: ""}`, contains: []string{"terminationGracePeriodSeconds: 145"}},
	}
}

func TestChartRendersOverItsTable(t *testing.T) {
	t.Parallel()
	for name, row := range table() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render(t, row.values)
			if err != nil {
				t.Fatal(err)
			}
			if err := conform(t, text); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			want := slices.DeleteFunc(append(strings.Fields(row.more), defaults...), func(kind string) bool { return kind == row.without })
			kinds := map[string]bool{}
			for _, m := range parse(t, text) {
				kinds[m.Kind] = true
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
			for _, part := range row.contains {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in\n%s", part, text)
				}
			}
		})
	}
}

func TestChartRefusesWrongValues(t *testing.T) {
	t.Parallel()
	for values, reason := range map[string]string{
		"{replica: 3}":                               "replica",
		"{replicas: two}":                            "replicas",
		"{existingSecret: ''}":                       "existingSecret",
		"{settings: {OPENAI_API_KEY: sk-x}}":         "settings",
		"{settings: {JWT_SECRET: x}}":                "/settings/JWT_SECRET",
		"{settings: {DATABASE_URL: x}}":              "/settings/DATABASE_URL",
		"{settings: {PORT: '80'}}":                   "/settings/PORT",
		"{settings: {rate limit: '80'}}":             "rate limit",
		"{settings: {RATE_LIMIT_RPM: 5}}":            "RATE_LIMIT_RPM",
		"{settings: {SHUTDOWN_GRACE_SECONDS: long}}": "SHUTDOWN_GRACE_SECONDS",
		"{image: {pullPolicy: Sometimes}}":           "pullPolicy",
		"{goMemLimit: lots}":                         "goMemLimit",
		"{httpRoute: {enabled: true}}":               "names no Gateway",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			if text, err := render(t, values); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

func TestStoredSchemasRefuseWhatKubernetesDoes(t *testing.T) {
	t.Parallel()
	text, err := render(t, "{autoscaling: {enabled: true}, serviceMonitor: {enabled: true}, httpRoute: {enabled: true, parentRefs: [{name: web}]}}")
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"replicas: ": "replica: ", "readOnlyRootFilesystem: true": `readOnlyRootFilesystem: "true"`, "containerPort: 8080": "containerPort: http",
		"minReplicas: 2": "minReplicas: two", "PathPrefix": "Prefix", "interval: 15s": "interval: often", "kind: Service\n": "kind: Servise\n",
		"automountServiceAccountToken: false": "automountToken: false",
	} {
		broken := strings.Replace(text, right, wrong, 1)
		if right == "replicas: " { // is not rendered with autoscaling
			broken = strings.Replace(text, "  strategy:", "  replica: 2\n  strategy:", 1)
		}
		if broken == text {
			t.Errorf("%q is not there", right)
		} else if conform(t, broken) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestChartPassesLint(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command(need(t, findHelm), "lint", "--strict", "--kube-version", kubernetesVersion, chart(t)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPlainManifestsAreTheRenderedChart(t *testing.T) {
	t.Parallel()
	text, err := render(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "app.kubernetes.io/managed-by: Helm", "app.kubernetes.io/managed-by: kubectl")
	text = regexp.MustCompile(`(?m)^ +helm\.sh/chart: .*\n`).ReplaceAllString(text, "")
	text = "# The chart of deploy/helm/modelgateway with its default values: docs/kubernetes.md. make chart writes it.\n" + text
	path := gatewaytest.File(t, "deploy/kubernetes/modelgateway.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != text {
		t.Errorf("deploy/kubernetes/modelgateway.yaml is not what the chart renders: make chart\n%s", text)
	}
	if err := conform(t, text); err != nil {
		t.Error(err)
	}
}

// plain returns the stored manifests, which need no tool.
func plain(t *testing.T) (map[string]manifest, pod) {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, "deploy/kubernetes/modelgateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := parse(t, string(text))
	var p pod
	all["Deployment modelgateway"].into(t, &p)
	if len(p.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v", p)
	}
	return all, p
}

func TestManifestsFitTheProgram(t *testing.T) {
	t.Parallel()
	manifests, p := plain(t)
	spec, c := p.Template.Spec, p.Template.Spec.Containers[0]
	gateway := gatewaytest.Start(t, "SIMULATOR=true")
	for what, probe := range map[string]probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if a := gateway.Get(t, probe.HTTPGet.Path); a.Status != 200 || probe.HTTPGet.Port != "http" {
			t.Errorf("%s: %+v %d", what, probe, a.Status)
		}
	}
	if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("%+v", c)
	}
	settings := manifests["ConfigMap modelgateway"].Data
	grace, err := strconv.Atoi(settings["SHUTDOWN_GRACE_SECONDS"])
	if spec.TerminationGracePeriodSeconds != 150 || c.Lifecycle.PreStop.Sleep.Seconds+grace+30 != 150 || err != nil {
		t.Errorf("the pod has %d s for %+v, %d s of drain, and 30 s: %v", spec.TerminationGracePeriodSeconds, c.Lifecycle, grace, err)
	}
	if !strings.Contains(gateway.Get(t, "/metrics").Body, "\nmodelgateway_calls_in_flight ") {
		t.Error("the metric of the autoscaler does not exist")
	}
	environ := []string{gatewaytest.JWTSecret}
	for name, value := range settings {
		environ = append(environ, name+"="+value)
	}
	limit, memory := "", 0
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom.SecretKeyRef.Key != "" {
			value = map[string]string{"DATABASE_URL": "postgres://h/d", "REDIS_URL": "redis://h:1/0"}[v.ValueFrom.SecretKeyRef.Key]
		}
		if v.Name == "GOMEMLIMIT" {
			limit = value
		}
		environ = append(environ, v.Name+"="+value)
	}
	read, err := config.Load(environ, "", all.Settings())
	if err != nil || !read.RequireAuth || read.Port != 8080 {
		t.Errorf("%v %+v", err, read)
	}
	memory, _ = strconv.Atoi(strings.TrimSuffix(limit, "MiB"))
	if c.Resources.Limits["memory"] != "2Gi" || memory < 2048*88/100 || memory > 2048*92/100 {
		t.Errorf("GOMEMLIMIT %s of %v", limit, c.Resources.Limits)
	}
}

func TestPodsHaveNoRightsThatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	_, p := plain(t)
	spec, c := p.Template.Spec, p.Template.Spec.Containers[0]
	seccomp, _ := spec.SecurityContext["seccompProfile"].(map[string]any)
	if spec.SecurityContext["runAsNonRoot"] != true || spec.SecurityContext["runAsUser"] != 65532 || seccomp["type"] != "RuntimeDefault" {
		t.Errorf("%v", spec.SecurityContext)
	}
	if s := c.SecurityContext; s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem ||
		!slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("%+v", s)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		t.Errorf("%+v", spec)
	}
	if len(spec.TopologySpreadConstraints) != 2 {
		t.Errorf("%v", spec.TopologySpreadConstraints)
	}
}

func TestSchemaOfTheValuesRefusesEverySecret(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(gatewaytest.File(t, "deploy/helm/modelgateway/values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Settings struct{ PatternProperties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings(all.Settings()) {
		refused := slices.Contains([]string{"HOST", "PORT", "MODELS_FILE"}, s.Name) // which the chart sets
		for pattern, rule := range schema.Properties.Settings.PatternProperties {
			if regexp.MustCompile(pattern).MatchString(s.Name) && rule == false {
				if !refused && !s.Secret {
					t.Errorf("%s is no secret, and is refused", s.Name)
				}
				refused = refused || s.Secret
			}
		}
		if s.Secret && !refused {
			t.Errorf("%s is a secret, and is accepted", s.Name)
		}
	}
}
