package anthropic_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"modelgateway/providers/simulator/anthropic"
	"modelgateway/providers/simulator/simulatortest"
)

func TestModelsComeInPages(t *testing.T) {
	server := simulatortest.Strict(t)
	type list struct {
		Data    []anthropic.Listed `json:"data"`
		HasMore bool               `json:"has_more"`
		FirstID string             `json:"first_id"`
		LastID  string             `json:"last_id"`
	}
	var ids []string
	after := ""
	for range len(anthropic.Catalogue) {
		c := simulatortest.Anthropic.At("/v1/models?limit=8&after_id=" + after)
		got := simulatortest.Decode[list](t, c.Send(t, server, http.MethodGet, "").Body)
		for _, m := range got.Data {
			if m.Type != "model" || m.DisplayName == "" {
				t.Errorf("model %+v", m)
			}
			if _, err := time.Parse(time.RFC3339, m.CreatedAt); err != nil {
				t.Error(err)
			}
			ids = append(ids, m.ID)
		}
		if got.FirstID != got.Data[0].ID || got.LastID != got.Data[len(got.Data)-1].ID {
			t.Errorf("first %s and last %s of %v", got.FirstID, got.LastID, got.Data)
		}
		if after = got.LastID; !got.HasMore {
			break
		}
	}
	if len(ids) != len(anthropic.Catalogue) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Fatalf("pages hold %v", ids)
	}
}
