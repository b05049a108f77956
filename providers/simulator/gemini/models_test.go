package gemini_test

import (
	"net/http"
	"testing"

	"modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/simulatortest"
)

func TestModelsComeInPages(t *testing.T) {
	server := simulatortest.Strict(t)
	type list struct {
		Models []gemini.Listed `json:"models"`
		Next   string          `json:"nextPageToken"`
	}
	count, token := 0, ""
	for range len(gemini.Catalogue) {
		c := simulatortest.Gemini("", "").At("/v1beta/models?pageSize=7&pageToken=" + token)
		got := simulatortest.Decode[list](t, c.Send(t, server, http.MethodGet, "").Body)
		count += len(got.Models)
		if token = got.Next; token == "" {
			break
		}
	}
	if count != len(gemini.Catalogue) {
		t.Fatalf("pages hold %d models, want %d", count, len(gemini.Catalogue))
	}
}
