package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// host is the name of the examples.
const host = "gateway.example.com"

// proxy is a program with an example of its configuration.
type proxy struct {
	name string
	find func() (string, error)
	// arguments writes the configuration into a folder and returns the command line.
	arguments func(t *testing.T, f *front) []string
}

// proxies are all examples.
func proxies() []proxy {
	return []proxy{
		{"nginx", findNginx, nginxArguments},
		{"caddy", findCaddy, caddyArguments},
		{"traefik", findTraefik, traefikArguments},
	}
}

// front is a proxy that runs in front of one gateway or several.
type front struct {
	folder        string   // of its configuration
	gateways      []string // their addresses
	https, http   string   // ports
	crt, key      string   // files
	authorities   *x509.CertPool
	URL, plainURL string
}

// eachProxy runs a test for every proxy. behind starts it in front of gateways.
func eachProxy(t *testing.T, test func(t *testing.T, behind func(p ...*gatewaytest.Program) *front)) {
	t.Helper()
	for _, x := range proxies() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			program := need(t, x.find)
			test(t, func(all ...*gatewaytest.Program) *front {
				var gateways []string
				for _, p := range all {
					gateways = append(gateways, strings.TrimPrefix(p.URL, "http://"))
				}
				return x.start(t, program, gateways)
			})
		})
	}
}

// start runs the proxy until the test ends.
func (x proxy) start(t *testing.T, program string, gateways []string) *front {
	t.Helper()
	f := &front{folder: t.TempDir(), gateways: gateways, https: gatewaytest.FreePort(t), http: gatewaytest.FreePort(t)}
	f.URL, f.plainURL = "https://"+host+":"+f.https, "http://"+host+":"+f.http
	f.certify(t)
	log := gatewaytest.NewLogBuffer()
	cmd := exec.Command(program, x.arguments(t, f)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.folder, log, log
	cmd.Env = append(os.Environ(), "HOME="+f.folder, "XDG_DATA_HOME="+f.folder, "XDG_CONFIG_HOME="+f.folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, killed below at the latest
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", x.name, log)
		}
	})
	client := f.client(t, "127.0.0.1")
	gatewaytest.Until(t, x.name+" answers", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s has ended: %v", x.name, err)
		default:
		}
		resp, err := client.Get(f.URL + "/livez")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return f
}

// client returns a client whose connections come from an address, which the proxy sees.
func (f *front) client(t *testing.T, from string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
		},
		TLSClientConfig:   &tls.Config{RootCAs: f.authorities, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: 3 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// certify makes a certificate for the examples' name, which signs itself.
func (f *front) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	f.crt = f.write(t, "gateway.crt", string(public))
	f.key = f.write(t, "gateway.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	f.authorities = x509.NewCertPool()
	f.authorities.AppendCertsFromPEM(public)
}

// write writes a file of the configuration and returns its path.
func (f *front) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(f.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// example returns an example of deploy/ with other texts in place of some: each has to be there.
func (f *front) example(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("deploy/%s does not contain %q", name, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(text))
}
