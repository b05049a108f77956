package messages

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"modelgateway/tests/gatewaytest"
)

// One path has the lists of two APIs.
func TestTheSDKsOfBothVendorsListTheModels(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(p.URL), anthropicoption.WithAPIKey("x"), anthropicoption.WithHTTPClient(p.Client))
	pages := claude.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(3)})
	listed := map[string]anthropic.ModelInfo{}
	for pages.Next() {
		listed[pages.Current().ID] = pages.Current()
	}
	got := listed[haiku]
	if pages.Err() != nil || len(listed) < 4 || got.MaxInputTokens != 200_000 || got.Lifecycle != "active" || !got.Capabilities.Thinking.Types.Enabled.Supported ||
		!got.Capabilities.ServerTools.WebSearch.Supported || got.Capabilities.Batch.Supported {
		t.Errorf("%d models, %v, %s", len(listed), pages.Err(), got.RawJSON())
	}
	if one, err := claude.Models.Get(t.Context(), haiku, anthropic.ModelGetParams{}); err != nil || one.ID != haiku || one.CreatedAt.Year() != 2025 {
		t.Errorf("%+v, %v", one, err)
	}
	gpt := openai.NewClient(option.WithBaseURL(p.URL+"/v1"), option.WithAPIKey("x"), option.WithHTTPClient(p.Client))
	page, err := gpt.Models.List(t.Context())
	if err != nil || len(page.Data) < len(listed) || page.Data[0].OwnedBy == "" {
		t.Errorf("%+v, %v", page, err)
	}
}
