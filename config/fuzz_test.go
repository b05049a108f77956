package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad sets one setting to a random text, beside a random .env file. No
// fault may show a secret or have more than one line.
func FuzzLoad(f *testing.F) {
	for i := range allNames() {
		f.Add(i, "", "")
	}
	f.Add(0, "80", "JWT_SECRET='x\nHOST=a # b\n")
	f.Add(3, "postgres://u:%zz", `REDIS_URL="redis://:\"@h:x"`)
	f.Add(13, "a,,b", "REQUIRE_ATUH=true\n\x00")
	f.Add(27, "10.0.0.1/8", "CORS_ALLOWED_ORIGINS=*,\r\n=")
	f.Add(9, "\u00e9", "OPENAI_API_KEY_FILE=nowhere\nOPENAI_API_KEY=k")
	names := allNames()
	isSecret := make(map[string]bool)
	for _, s := range allSettings() {
		isSecret[s.Name], isSecret[s.Name+"_FILE"] = s.Secret, s.Secret
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which int, value, dotenv string) {
		name := names[uint(which)%uint(len(names))]
		if strings.Contains(value+dotenv, "/") && strings.Contains(value+dotenv, "_FILE") || strings.Contains(value+dotenv, plantedSecret) {
			return // no files of this machine are read
		}
		path := filepath.Join(dir, ".env")
		text := strings.ReplaceAll(dotenv, "KEY=", "KEY="+plantedSecret)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		environ := []string{name + "=" + value, "IDP_CLIENT_SECRET=" + plantedSecret + value}
		if isSecret[name] {
			environ[0] = name + "=" + value + plantedSecret + value
		}
		c, err := load(environ, path)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v, %v", c, err)
		}
		if err == nil {
			return
		}
		if strings.Contains(err.Error(), plantedSecret) {
			t.Errorf("shows a secret: %v", err)
		}
		for _, fault := range err.(Faults) {
			if fault == "" || strings.ContainsAny(fault, "\r\n\x00") {
				t.Errorf("a fault is not one line: %q", fault)
			}
		}
	})
}
