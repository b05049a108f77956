// Command join merges the lists into the facts of the catalogue. It is the second half
// of make catalogue.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"modelgateway/catalog/lists/merge"
)

func main() {
	if err := join("catalog"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func join(dir string) error {
	text, err := merge.Facts(os.DirFS(filepath.Join(dir, "lists")))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "facts.json"), text, 0o644) //nolint:gosec // a file of the repository
}
