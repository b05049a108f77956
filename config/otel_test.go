package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTracingIsOffByDefault(t *testing.T) {
	for settings, endpoint := range map[string]string{
		"": "",
		"OTEL_SERVICE_NAME=x OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_PROPAGATORS=b3":                          "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318 OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318 OTEL_TRACES_EXPORTER=none":                               "",
		"OTEL_TRACES_EXPORTER=otlp":                                                                  "http://localhost:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318":                                                  "http://c:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/otlp/":                                                "https://c/otlp/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t/in/": "https://t/in/",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/x OTEL_EXPORTER_OTLP_PROTOCOL=grpc " +
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf": "http://t/x",
	} {
		if got := mustLoad(t, "", strings.Fields(settings)...).Tracing.Endpoint; got != endpoint {
			t.Errorf("%s: %q, not %q", settings, got, endpoint)
		}
	}
}

func TestSettingsForTracesOverrideSettingsForAllSignals(t *testing.T) {
	tr := mustLoad(t, "",
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=2%20x, c=3",
		"OTEL_EXPORTER_OTLP_TIMEOUT=1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=2500", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other,team=a%2Cb", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25",
		"OTEL_BSP_MAX_QUEUE_SIZE=100", "OTEL_PROPAGATORS=baggage,tracecontext").Tracing
	if len(tr.Headers) != 2 || tr.Headers["b"].Reveal() != "2 x" || tr.Headers["c"].Reveal() != "3" {
		t.Errorf("%d headers", len(tr.Headers))
	}
	if tr.Timeout != 2500*time.Millisecond || !tr.Gzip || tr.Service != "other" || tr.Attributes["team"] != "a,b" || len(tr.Attributes) != 1 ||
		tr.Sampler != "traceidratio" || tr.SampleRatio != 0.25 || tr.QueueSize != 100 || tr.BatchSize != 100 || !tr.Propagate ||
		tr.TLS != nil {
		t.Errorf("%+v", tr)
	}
	tr = mustLoad(t, "", "OTEL_TRACES_EXPORTER=otlp", "OTEL_SERVICE_NAME=my gateway",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other", "OTEL_PROPAGATORS=none").Tracing
	if tr.Service != "my gateway" || tr.Propagate || tr.Sampler != "parentbased_always_on" || tr.QueueSize != 2048 || tr.BatchSize != 512 ||
		tr.ScheduleDelay != 5*time.Second || tr.ExportTimeout != 30*time.Second || tr.Timeout != 10*time.Second {
		t.Errorf("%+v", tr)
	}
}

func TestEachFaultOfTracingNamesItsSettingAndNoSecret(t *testing.T) {
	bad := write(t, "pem", "no certificate")
	for setting, name := range map[string]string{
		"OTEL_TRACES_EXPORTER=zipkin":                      "OTEL_TRACES_EXPORTER",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                 "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":     "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317":       "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_HEADERS=" + plantedSecret:      "OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_HEADERS=a b=" + plantedSecret:  "OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_HEADERS=a=%0A" + plantedSecret: "OTEL_EXPORTER_OTLP_HEADERS",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                   "OTEL_EXPORTER_OTLP_TIMEOUT",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd":              "OTEL_EXPORTER_OTLP_COMPRESSION",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=" + bad:            "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + bad:     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
		"OTEL_PROPAGATORS=b3":                              "OTEL_PROPAGATORS",
		"OTEL_TRACES_SAMPLER=jaeger_remote":                "OTEL_TRACES_SAMPLER",
		"OTEL_TRACES_SAMPLER_ARG=NaN":                      "OTEL_TRACES_SAMPLER_ARG",
		"OTEL_RESOURCE_ATTRIBUTES=team":                    "OTEL_RESOURCE_ATTRIBUTES",
		"OTEL_BSP_MAX_QUEUE_SIZE=0":                        "OTEL_BSP_MAX_QUEUE_SIZE",
		"OTEL_SDK_DISABLED=yes":                            "OTEL_SDK_DISABLED",
	} {
		base := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/x"
		_, err := load([]string{base, setting}, "")
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(faults[0], name) ||
			strings.Contains(faults[0], plantedSecret) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

// The specification has settings of other signals, which the gateway does not read.
func TestSettingsOfOtherSignalsAreNotReportedAsMisspelt(t *testing.T) {
	for _, name := range []string{
		"OTEL_LOG_LEVEL", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
		"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "OTEL_EXPORTER_OTLP_INSECURE", "OTEL_METRIC_EXPORT_INTERVAL",
		"OTEL_METRIC_EXPORT_TIMEOUT",
		"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT", "OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_ATTRIBUTE_COUNT_LIMIT",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ENTITIES", "OTEL_CONFIG_FILE", "OTEL_METRICS_EXEMPLAR_FILTER", "OTEL_SEMCONV_STABILITY_OPT_IN",
	} {
		if _, err := load([]string{name + "=x"}, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := load([]string{"OTEL_EXPORTER_OLTP_ENDPOINT=http://c"}, ""); err == nil {
		t.Error("a misspelt name is ignored")
	}
}
