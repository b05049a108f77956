package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const checksumsName = "checksums.txt"

// writeChecksums writes what `sha256sum --check` reads.
func (r *release) writeChecksums(context.Context) error {
	slices.Sort(r.files)
	var text bytes.Buffer
	for _, name := range r.files {
		sum, err := checksum(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	fmt.Println(checksumsName)
	return os.WriteFile(filepath.Join(r.out, checksumsName), text.Bytes(), 0o644)
}

func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := bufio.NewReader(file).WriteTo(hash); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
