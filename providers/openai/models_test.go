package openai

import (
	"slices"
	"testing"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
)

func TestModelsAreListedWithTheirKind(t *testing.T) {
	p := provider(openaitest.Serve(t, 200, "application/json", `{"object":"list","data":[{"id":"gpt-6-sol","created":7},{"id":"text-embedding-3-small"},`+
		`{"id":"whisper-1"},{"id":"o3-mini","created":8},{"id":"gpt-4o-realtime"},{"id":""}]}`))
	models, err := p.listModels(t.Context(), openaitest.Key)
	want := []providers.Listed{
		{ID: "gpt-6-sol", Kind: llm.KindChat, Created: 7}, {ID: "text-embedding-3-small", Kind: llm.KindEmbedding},
		{ID: "o3-mini", Kind: llm.KindChat, Created: 8},
	}
	if err != nil || !slices.Equal(models, want) {
		t.Errorf("%+v, %v", models, err)
	}
}

func TestListsOfCompatibleServersSayWhatModelsAreFor(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want []providers.Listed
	}{
		"Groq": {`{"object":"list","data":[{"id":"llama-3.3-70b-instruct","created":1,"active":true,"context_window":131072,` +
			`"max_completion_tokens":32768},{"id":"whisper-large-v3","active":true},{"id":"old","active":false}]}`,
			[]providers.Listed{{ID: "llama-3.3-70b-instruct", Kind: llm.KindChat, Created: 1, Context: 131072, MaxOutput: 32768}}},
		"Mistral": {`{"data":[{"id":"codestral-latest","type":"base","max_context_length":256000,"capabilities":{"completion_chat":true}},` +
			`{"id":"mistral-ocr-latest","type":"base","capabilities":{"completion_chat":false}},` +
			`{"id":"mistral-embed","type":"base","capabilities":{"completion_chat":false}}]}`,
			[]providers.Listed{{ID: "codestral-latest", Kind: llm.KindChat, Context: 256000}, {ID: "mistral-embed", Kind: llm.KindEmbedding}}},
		"Together": {`[{"id":"meta/Llama-Instruct","type":"chat","created":2,"context_length":32768},{"id":"black/FLUX","type":"image"},` +
			`{"id":"BAAI/bge","type":"embedding"},{"id":"x/rank","type":"rerank"}]`,
			[]providers.Listed{{ID: "meta/Llama-Instruct", Kind: llm.KindChat, Created: 2, Context: 32768}, {ID: "BAAI/bge",
				Kind: llm.KindEmbedding}}},
		"OpenRouter": {`{"data":[{"id":"openai/gpt-5-pro","context_length":400000,"architecture":{"output_modalities":["text"]},` +
			`"top_provider":{"max_completion_tokens":128000}},{"id":"x/painter","architecture":{"output_modalities":["image"]}}]}`,
			[]providers.Listed{{ID: "openai/gpt-5-pro", Kind: llm.KindChat, Context: 400000, MaxOutput: 128000}}},
		"vLLM": {`{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","created":3,"max_model_len":40960,"permission":[{}]}]}`,
			[]providers.Listed{{ID: "Qwen/Qwen3-8B", Kind: llm.KindChat, Created: 3, Context: 40960}}},
	} {
		p := provider(openaitest.Serve(t, 200, "application/json", tt.body))
		p.server.ListsAll = true
		if models, err := p.listModels(t.Context(), openaitest.Key); err != nil || !slices.Equal(models, tt.want) {
			t.Errorf("%s: %+v, %v", name, models, err)
		}
	}
	p := provider("")
	if p.server.ListsNone = true; p.Abilities().Models != nil {
		t.Error("a server without a list has one")
	}
}
