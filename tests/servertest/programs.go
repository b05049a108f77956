//go:build unix

package servertest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// PostgresPrograms returns the folder of pg_dump, pg_restore and psql. Where they are
// missing they are installed, as the servers are; else the test fails.
func PostgresPrograms(t testing.TB) string {
	t.Helper()
	if dir := findClients(); dir != "" {
		return dir
	}
	if err := Install(findClients, "postgresql-client"); err != nil {
		t.Fatalf("the test needs pg_dump, pg_restore and psql: install the package postgresql-client\n%v", err)
	}
	return findClients()
}

func findClients() string {
	dirs := []string{findPostgres()} // of the version of the server
	if dump, err := exec.LookPath("pg_dump"); err == nil {
		dirs = append(dirs, filepath.Dir(dump))
	}
	for _, dir := range dirs {
		_, errDump := exec.LookPath(filepath.Join(dir, "pg_dump"))
		_, errRestore := exec.LookPath(filepath.Join(dir, "pg_restore"))
		if dir != "" && errDump == nil && errRestore == nil {
			return dir
		}
	}
	return ""
}
