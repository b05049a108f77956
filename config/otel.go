package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tracing is where traces go and which, by the settings of OpenTelemetry. They
// are read like all others, from the environment and .env, and not by
// OpenTelemetry's own library, which passes over what it does not understand.
type Tracing struct {
	Endpoint string            // where spans are posted, with its path; empty: tracing is off
	Headers  map[string]Secret // on every post
	Timeout  time.Duration     // of one post
	Gzip     bool
	TLS      *tls.Config // nil: the system's certificates

	Service     string
	Attributes  map[string]string // of the resource, without the service's name
	Propagate   bool              // W3C Trace Context is read and passed on
	Sampler     string            // as in OTEL_TRACES_SAMPLER
	SampleRatio float64           // for the samplers that take one

	QueueSize     int // spans that wait, at most; more are dropped
	BatchSize     int // spans of one post
	ScheduleDelay time.Duration
	ExportTimeout time.Duration // of one batch, with all its posts
}

// otel is what the settings of tracing say before they are put together.
type otel struct {
	disabled         bool
	exporter         string
	base, endpoint   string // for all signals, for traces
	protocol         string
	compression      string
	service          string
	propagators      string
	cas              *x509.CertPool
	certificate, key string // paths
}

// protocolHTTP is the one way in which spans are sent.
const protocolHTTP = "http/protobuf"

// tracing is every setting of OpenTelemetry. Of two for the same the one for
// traces stands second, and wins.
func (l *loader) tracing() []row {
	t, o := &l.Tracing, &l.otel
	return []row{
		plain("OTEL_SDK_DISABLED", "false", boolean(&o.disabled), "Whether tracing is off whatever else is set"),
		plain("OTEL_TRACES_EXPORTER", "", text(&o.exporter), "otlp turns tracing on and none off; when empty it is on if an endpoint is set"),
		plain("OTEL_EXPORTER_OTLP_ENDPOINT", "", httpURL(&o.base), "Where a collector is; /v1/traces is added"),
		plain("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", wholeURL(&o.endpoint), "Where traces are posted, exactly"),
		plain("OTEL_EXPORTER_OTLP_PROTOCOL", protocolHTTP, text(&o.protocol), "Only http/protobuf"),
		plain("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "", text(&o.protocol), "The same for traces only"),
		secret("OTEL_EXPORTER_OTLP_HEADERS", "", headers(&t.Headers), "Sent with every post, for collectors that want a credential"),
		secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "", headers(&t.Headers), "The same for traces only"),
		plain("OTEL_EXPORTER_OTLP_TIMEOUT", "10000", milliseconds(&t.Timeout, 1, 600000), "Longest post"),
		plain("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "", milliseconds(&t.Timeout, 1, 600000), "The same for traces only"),
		plain("OTEL_EXPORTER_OTLP_COMPRESSION", "none", oneOf(&o.compression, "gzip", "none"), "How posts are compressed"),
		plain("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "", oneOf(&o.compression, "gzip", "none"), "The same for traces only"),
		plain("OTEL_EXPORTER_OTLP_CERTIFICATE", "", authorities(&o.cas), "Who may have signed the collector's certificate"),
		plain("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "", authorities(&o.cas), "The same for traces only"),
		plain("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "", readable(&o.certificate), "Our own certificate for the collector, in PEM"),
		plain("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "", readable(&o.certificate), "The same for traces only"),
		plain("OTEL_EXPORTER_OTLP_CLIENT_KEY", "", readable(&o.key), "The key that goes with our certificate, in PEM"),
		plain("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "", readable(&o.key), "The same for traces only"),
		plain("OTEL_SERVICE_NAME", "", label(&o.service), "What the gateway is called in traces; modelgateway when empty"),
		plain("OTEL_RESOURCE_ATTRIBUTES", "", attributes(&t.Attributes), "Further attributes of the gateway"),
		plain("OTEL_PROPAGATORS", "tracecontext", text(&o.propagators), "tracecontext or none; baggage beside them is never passed on"),
		plain("OTEL_TRACES_SAMPLER", "parentbased_always_on", oneOf(&t.Sampler, samplers()...), "Which traces are kept"),
		plain("OTEL_TRACES_SAMPLER_ARG", "1", ratio(&t.SampleRatio), "How many of them, for the traceidratio samplers"),
		plain("OTEL_BSP_MAX_QUEUE_SIZE", "2048", whole(&t.QueueSize, 1, 1000000), "Spans that may wait to be sent; more are dropped"),
		plain("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512", whole(&t.BatchSize, 1, 100000), "Spans of one post"),
		plain("OTEL_BSP_SCHEDULE_DELAY", "5000", milliseconds(&t.ScheduleDelay, 1, 600000), "Longest wait of a span before it is sent"),
		plain("OTEL_BSP_EXPORT_TIMEOUT", "30000", milliseconds(&t.ExportTimeout, 1, 600000), "Longest time for a batch, with its retries"),
	}
}

func samplers() []string {
	return []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
}

// checkTracing puts the settings of tracing together. Where it is off what we
// do not have is no fault: the settings may be there for other programs.
func (l *loader) checkTracing() {
	o, t := &l.otel, &l.Tracing
	asked := o.exporter != "" || l.given("OTEL_EXPORTER_OTLP_ENDPOINT") || l.given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if o.disabled || o.exporter == "none" || !asked {
		*t = Tracing{}
		return
	}
	if o.exporter != "" && o.exporter != "otlp" {
		l.fault("OTEL_TRACES_EXPORTER: %v", refused(o.exporter, "otlp or none"))
	}
	if o.protocol != "" && o.protocol != protocolHTTP {
		l.fault("%s: %v", l.last("PROTOCOL"), refused(o.protocol, protocolHTTP+", the only protocol there is"))
	}
	t.Endpoint = o.endpoint
	if t.Endpoint == "" {
		if o.base == "" {
			o.base = "http://localhost:4318"
		}
		t.Endpoint = o.base + "/v1/traces"
	}
	t.Gzip = o.compression == "gzip"
	t.Service = t.Attributes["service.name"]
	if o.service != "" {
		t.Service = o.service
	}
	if t.Service == "" {
		t.Service = "modelgateway"
	}
	delete(t.Attributes, "service.name")
	t.BatchSize = min(t.BatchSize, t.QueueSize)
	l.checkPropagators()
	l.checkCollectorTLS()
}

// last is the name of the setting of traces, where it is given, or else that
// of all signals.
func (l *loader) last(what string) string {
	if name := "OTEL_EXPORTER_OTLP_TRACES_" + what; l.given(name) {
		return name
	}
	return "OTEL_EXPORTER_OTLP_" + what
}

func (l *loader) checkPropagators() {
	if l.otel.propagators == "" {
		return
	}
	all := strings.Split(l.otel.propagators, ",")
	for _, name := range all {
		if !slices.Contains([]string{"tracecontext", "baggage", "none"}, name) {
			l.fault("OTEL_PROPAGATORS: %v", refused(name, "tracecontext, baggage or none"))
		}
	}
	l.Tracing.Propagate = slices.Contains(all, "tracecontext") && !slices.Contains(all, "none")
}

func (l *loader) checkCollectorTLS() {
	o := &l.otel
	if (o.certificate == "") != (o.key == "") {
		l.fault("%s and %s: only together", l.last("CLIENT_CERTIFICATE"), l.last("CLIENT_KEY"))
		return
	}
	if o.cas == nil && o.key == "" {
		return
	}
	l.Tracing.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.cas}
	if o.key == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil { // it may quote the key's file
		l.fault("%s and %s: not a certificate and its key, in PEM", l.last("CLIENT_CERTIFICATE"), l.last("CLIENT_KEY"))
		return
	}
	l.Tracing.TLS.Certificates = []tls.Certificate{pair}
}

// wholeURL keeps the path as it is.
func wholeURL(into *string) kind {
	return kind{"an http or https URL", func(text string) error {
		if _, err := parseHTTP(text); err != nil {
			return err
		}
		*into = text
		return nil
	}}
}

// headers reads name=value,name=value with values in percent encoding. No
// fault shows what it is about.
func headers(into *map[string]Secret) kind {
	const want = "a list such as authorization=Bearer%20abc,x-tenant=1"
	return kind{want, func(text string) error {
		all := map[string]Secret{}
		err := pairs(text, func(name, value string) error {
			if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" {
				return errors.New("the name is not that of a header")
			}
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return errors.New("the value holds a control character")
			}
			all[name] = NewSecret(value)
			return nil
		})
		*into = all
		return err
	}}
}

func attributes(into *map[string]string) kind {
	return kind{"a list such as deployment.environment.name=test,team=a%20b", func(text string) error {
		all := map[string]string{}
		err := pairs(text, func(name, value string) error {
			all[name] = value
			return nil
		})
		*into = all
		return err
	}}
}

// pairs reads name=value,name=value as OpenTelemetry writes it.
func pairs(text string, each func(name, value string) error) error {
	item := 0
	for pair := range strings.SplitSeq(text, ",") {
		item++
		name, encoded, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !ok || name == "" || err != nil {
			return fmt.Errorf("item %d is not name=value in percent encoding", item)
		}
		if err := each(name, value); err != nil {
			return fmt.Errorf("item %d: %w", item, err)
		}
	}
	return nil
}

func authorities(into **x509.CertPool) kind {
	const want = "the path of a file with certificates in PEM"
	return kind{want, func(path string) error {
		pem, err := os.ReadFile(path)
		if err != nil {
			return withoutPath(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return errors.New("not " + want)
		}
		*into = pool
		return nil
	}}
}

func label(into *string) kind {
	const want = "a text without control characters"
	return kind{want, func(text string) error {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return refused(text, want)
		}
		*into = text
		return nil
	}}
}

func ratio(into *float64) kind {
	const want = "a number from 0 to 1"
	return kind{want, func(text string) error {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return refused(text, want)
		}
		*into = n
		return nil
	}}
}
