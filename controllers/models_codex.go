package controllers

import (
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/dialects/responses"
	"modelgateway/services/registry"
)

// codexList is the list of models with those that Codex reads of it.
type codexList struct {
	api.ModelList
	Models []responses.CodexModel `json:"models"`
}

// codexModels are the models that the caller can use, in Codex' form.
func codexModels(all []registry.Offered) []responses.CodexModel {
	list := []responses.CodexModel{}
	for _, m := range all {
		if !ofCodex(m.ID) && (m.Features.Tools == nil || *m.Features.Tools) {
			list = append(list, codexModel(m, responses.CodexPriority+len(list)))
		}
	}
	return list
}

// ofCodex says whether Codex' own list is for this name. Codex takes a model of ours in place of
// its own of the same name, which would then be without its prompt and its tools.
func ofCodex(name string) bool {
	return strings.HasPrefix(name, "gpt-") && !strings.HasPrefix(name, "gpt-oss") || strings.HasPrefix(name, "codex-")
}

func codexModel(m registry.Offered, priority int) responses.CodexModel {
	info := responses.CodexModel{
		Slug: m.ID, DisplayName: displayName(m), Description: "By " + m.Provider + ", through the gateway",
		Efforts: []responses.CodexEffort{}, Summaries: len(m.Traits.Thinking) > 0,
		ShellType: "unified_exec", Visibility: "list", InAPI: true, Priority: priority, BaseInstructions: responses.CodexInstructions,
		Truncation: responses.CodexOutputLimit{Mode: "tokens", Limit: 10_000}, ParallelCalls: true,
		ContextWindow: m.Context, MaxContextWindow: m.Context, Tools: []string{}, Input: []string{"text"},
	}
	if takesInput(m, "image") {
		info.Input = append(info.Input, "image")
	}
	efforts := m.Traits.Efforts
	if len(efforts) == 0 && len(m.Traits.Thinking) > 0 { // a budget of tokens stands for each
		efforts = []string{"low", "medium", "high"}
	}
	for _, effort := range efforts {
		info.Efforts = append(info.Efforts, responses.CodexEffort{Effort: effort})
	}
	if n := len(efforts); n > 0 {
		info.DefaultEffort = efforts[n/2]
		if slices.Contains(efforts, "medium") {
			info.DefaultEffort = "medium"
		}
	}
	return info
}
