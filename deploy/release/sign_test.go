package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes a new private key.
func keyFile(t *testing.T, curve elliptic.Curve) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSignaturesAreVerifiedByOpenssl(t *testing.T) {
	t.Parallel()
	key, err := readKey(keyFile(t, elliptic.P256()))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	text := []byte("sum  file\n")
	if err := os.WriteFile(filepath.Join(out, checksumsName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := key.signAll(out, checksumsName); err != nil {
		t.Fatal(err)
	}
	encoded, err := os.ReadFile(filepath.Join(out, checksumsName+".sig"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(string(encoded))
	if digest := sha256.Sum256(text); err != nil || !ecdsa.VerifyASN1(&key.key.PublicKey, digest[:], signature) {
		t.Errorf("the signature is not that of the file: %v", err)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	verify := func() error {
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", "base64 -d checksums.txt.sig >checksums.der && "+
			"openssl dgst -sha256 -verify release.pub -signature checksums.der checksums.txt")
		cmd.Dir = out
		_, err := cmd.Output()
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, checksumsName), []byte("sum  other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](verify()); !ok || exit.ExitCode() != 1 {
		t.Error("a changed file is accepted")
	}
}

func TestKeysThatCannotSignAreRefused(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, filepath.Join(t.TempDir(), "missing"), keyFile(t, elliptic.P384())} {
		if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), "RELEASE_KEY") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
