package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Certificate is the certificate of a server, and the authority that has signed it.
type Certificate struct {
	Authority []byte // PEM
	key       *ecdsa.PrivateKey
	chain     [][]byte
}

// NewCertificate makes an authority, and a certificate for a name and for 127.0.0.1.
func NewCertificate(t testing.TB, name string) *Certificate {
	t.Helper()
	authority := template("a test's authority")
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	authorityKey, key := newKey(t), newKey(t)
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	server := template(name)
	server.DNSNames, server.IPAddresses = []string{name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	leaf, err := x509.CreateCertificate(rand.Reader, server, authority, key.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	return &Certificate{
		Authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), key: key, chain: [][]byte{leaf},
	}
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Trusting returns the configuration of a client that trusts the authority.
func (c *Certificate) Trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Authority)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (c *Certificate) server() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: c.chain, PrivateKey: c.key}}, MinVersion: tls.VersionTLS12,
	}
}

func (c *Certificate) listener(inner net.Listener) net.Listener {
	return tls.NewListener(inner, c.server())
}
