package accounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// TestDatabaseFileHoldsNoKeyOrPassword searches the bytes of the files.
func TestDatabaseFileHoldsNoKeyOrPassword(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := gatewaytest.Start(t, "SIMULATOR=true", "DATABASE_URL=sqlite:"+filepath.Join(folder, "gateway.db"))
	token := p.Login(t)
	_, key := p.CreateKey(t, token)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{key, key[4:], key[8:30], "correct horse battery"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %q", filepath.Base(file), secret)
			}
		}
	}
}
