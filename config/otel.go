package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// Tracing says where traces are sent and which, by the environment variables of
// the OpenTelemetry specification. OpenTelemetry's own library is not asked to
// read them: it reads only the environment of the process, neither .env nor
// NAME_FILE, and ignores values that it does not understand.
type Tracing struct {
	Endpoint string            // the URL that spans are posted to, with its path; empty: tracing is off
	Headers  map[string]Secret // of every post
	Timeout  time.Duration     // of one post
	Gzip     bool
	TLS      *tls.Config // nil: the certificates of the system

	Service     string
	Attributes  map[string]string // of the resource, without the name of the service
	Propagate   bool              // whether W3C Trace Context is read and passed on
	Sampler     string            // as in OTEL_TRACES_SAMPLER
	SampleRatio float64           // for the samplers that take one

	QueueSize     int // spans that can wait to be exported; more are dropped
	BatchSize     int // most spans of one post
	ScheduleDelay time.Duration
	ExportTimeout time.Duration // of one batch, retries included
}

// otel holds the settings that checkTracing combines into a Tracing.
type otel struct {
	disabled                 bool
	exporter                 string
	baseURL, tracesURL       string
	protocol                 string
	compression              string
	service                  string
	propagators              string
	authorities              *x509.CertPool
	certificateFile, keyFile string
}

// protocolHTTP is the only protocol that is implemented.
const protocolHTTP = "http/protobuf"

// tracing lists the settings of OpenTelemetry.
func (l *loader) tracing() []row {
	t, o := &l.Tracing, &l.otel
	return slices.Concat([]row{
		plain("OTEL_SDK_DISABLED", "false", boolean(&o.disabled), "Turns tracing off, even if an endpoint is set"),
		plain("OTEL_TRACES_EXPORTER", "", text(&o.exporter),
			"otlp turns tracing on, none turns it off; when empty it is on if an endpoint is set"),
		plain("OTEL_EXPORTER_OTLP_ENDPOINT", "", httpURL(&o.baseURL), "Base URL of the collector; /v1/traces is appended"),
		plain("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", wholeURL(&o.tracesURL),
			"Exact URL that traces are posted to; overrides OTEL_EXPORTER_OTLP_ENDPOINT"),
	},
		exporting(plain("PROTOCOL", protocolHTTP, text(&o.protocol), "Protocol to the collector; only http/protobuf is supported")),
		exporting(secret("HEADERS", "", headers(&t.Headers), "Headers of every post, such as the collector's credential")),
		exporting(plain("TIMEOUT", "10000", milliseconds(&t.Timeout, 1, 600000), "Timeout of one post")),
		exporting(plain("COMPRESSION", "none", oneOf(&o.compression, "gzip", "none"), "Compression of posts")),
		exporting(plain("CERTIFICATE", "", authorities(&o.authorities),
			"Certificate authorities of the collector; the system's when empty")),
		exporting(plain("CLIENT_CERTIFICATE", "", readable(&o.certificateFile), "Client certificate for the collector, in PEM")),
		exporting(plain("CLIENT_KEY", "", readable(&o.keyFile), "Private key of the client certificate, in PEM")),
		[]row{
			plain("OTEL_SERVICE_NAME", "", label(&o.service), "Name of the gateway in traces; modelgateway when empty"),
			plain("OTEL_RESOURCE_ATTRIBUTES", "", attributes(&t.Attributes), "Further attributes of the gateway in traces"),
			plain("OTEL_PROPAGATORS", "tracecontext", text(&o.propagators),
				"tracecontext or none; baggage is accepted in the list but not passed on"),
			plain("OTEL_TRACES_SAMPLER", "parentbased_always_on", oneOf(&t.Sampler, samplers()...), "Which traces are exported"),
			plain("OTEL_TRACES_SAMPLER_ARG", "1", ratio(&t.SampleRatio), "Share of the traces that the traceidratio samplers export"),
			plain("OTEL_BSP_MAX_QUEUE_SIZE", "2048", whole(&t.QueueSize, 1, 1000000),
				"Most spans that wait to be exported; more are dropped"),
			plain("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512", whole(&t.BatchSize, 1, 100000), "Most spans of one post"),
			plain("OTEL_BSP_SCHEDULE_DELAY", "5000", milliseconds(&t.ScheduleDelay, 1, 600000),
				"Longest wait of a span before its export"),
			plain("OTEL_BSP_EXPORT_TIMEOUT", "30000", milliseconds(&t.ExportTimeout, 1, 600000),
				"Timeout of the export of a batch, retries included"),
		})
}

// exporting returns the two settings that the specification has for an option
// of the exporter. The second one is read later and therefore wins.
func exporting(r row) []row {
	traces := r
	r.Name, traces.Name = "OTEL_EXPORTER_OTLP_"+r.Name, "OTEL_EXPORTER_OTLP_TRACES_"+r.Name
	traces.Default, traces.Doc = "", "Overrides "+r.Name+" for traces ("+r.accepts+")."
	return []row{r, traces}
}

func samplers() []string {
	return []string{
		"always_on",
		"always_off",
		"traceidratio",
		"parentbased_always_on",
		"parentbased_always_off",
		"parentbased_traceidratio",
	}
}

// checkTracing combines the settings of tracing. When tracing is off, options
// that we do not support are no faults: they may be meant for other programs.
func (l *loader) checkTracing() {
	o, t := &l.otel, &l.Tracing
	wanted := o.exporter != "" || l.isSet("OTEL_EXPORTER_OTLP_ENDPOINT") || l.isSet("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if o.disabled || o.exporter == "none" || !wanted {
		*t = Tracing{}
		return
	}
	if o.exporter != "" && o.exporter != "otlp" {
		l.fault("OTEL_TRACES_EXPORTER: %v", invalid(o.exporter, "otlp or none"))
	}
	if o.protocol != "" && o.protocol != protocolHTTP {
		l.fault("%s: %v", l.exporterSetting("PROTOCOL"), invalid(o.protocol, protocolHTTP+", the only supported protocol"))
	}
	t.Endpoint = cmp.Or(o.tracesURL, cmp.Or(o.baseURL, "http://localhost:4318")+"/v1/traces")
	t.Gzip = o.compression == "gzip"
	t.Service = cmp.Or(o.service, t.Attributes["service.name"], "modelgateway")
	delete(t.Attributes, "service.name")
	t.BatchSize = min(t.BatchSize, t.QueueSize)
	l.checkPropagators()
	l.checkCollectorTLS()
}

// exporterSetting returns the name of the setting that an option of the
// exporter was read from.
func (l *loader) exporterSetting(option string) string {
	if name := "OTEL_EXPORTER_OTLP_TRACES_" + option; l.isSet(name) {
		return name
	}
	return "OTEL_EXPORTER_OTLP_" + option
}

func (l *loader) checkPropagators() {
	if l.otel.propagators == "" {
		return
	}
	all := strings.Split(l.otel.propagators, ",")
	for _, name := range all {
		if !slices.Contains([]string{"tracecontext", "baggage", "none"}, name) {
			l.fault("OTEL_PROPAGATORS: %v", invalid(name, "tracecontext, baggage or none"))
		}
	}
	l.Tracing.Propagate = slices.Contains(all, "tracecontext") && !slices.Contains(all, "none")
}

func (l *loader) checkCollectorTLS() {
	o := &l.otel
	certificate, key := l.exporterSetting("CLIENT_CERTIFICATE"), l.exporterSetting("CLIENT_KEY")
	if (o.certificateFile == "") != (o.keyFile == "") {
		l.fault("%s and %s: one is set without the other", certificate, key)
		return
	}
	if o.authorities == nil && o.keyFile == "" {
		return
	}
	l.Tracing.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.authorities}
	if o.keyFile == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(o.certificateFile, o.keyFile)
	if err != nil { // not shown: it may quote the file of the key
		l.fault("%s and %s: not a certificate and its private key in PEM", certificate, key)
		return
	}
	l.Tracing.TLS.Certificates = []tls.Certificate{pair}
}
