package api

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestErrorPageExplainsEveryCode(t *testing.T) {
	source, err := os.ReadFile("error.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\s+Code\w+\s+= "(\w+)"`).FindAllSubmatch(source, -1)
	if len(codes) < 30 {
		t.Fatalf("found %d codes in error.go", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(string(page), "`"+string(code[1])+"`") {
			t.Errorf("docs/errors.md does not explain %s", code[1])
		}
	}
}
