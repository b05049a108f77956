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
	"fmt"
	"os"
	"path/filepath"
)

// signer signs files as `cosign sign-blob --key` does: ECDSA on P-256 over SHA-256, as ASN.1 in base64. `cosign verify-blob` and
// openssl verify it.
type signer struct{ key *ecdsa.PrivateKey }

// readKey reads a private key as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it. No error quotes the file.
func readKey(path string) (*signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("RELEASE_KEY: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("RELEASE_KEY: %s is not PEM", path)
	}
	var key any
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		err = errors.New("the kind of key is unknown; an encrypted one has to be decrypted first")
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("RELEASE_KEY: %s is no private key of ECDSA on P-256", path)
	}
	return &signer{private}, nil
}

// signAll writes a signature beside each file, and the public key once.
func (s *signer) signAll(folder string, names ...string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		digest := sha256.Sum256(data)
		signature, err := ecdsa.SignASN1(rand.Reader, s.key, digest[:])
		if err != nil {
			return err
		}
		fmt.Println(name + ".sig")
		text := base64.StdEncoding.EncodeToString(signature)
		if err := os.WriteFile(filepath.Join(folder, name+".sig"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	public, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err != nil {
		return err
	}
	fmt.Println("release.pub")
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return os.WriteFile(filepath.Join(folder, "release.pub"), text, 0o644)
}
