package models_test

import (
	"testing"

	"modelgateway/models"
)

func TestAListOfModelsAllowsNamesAndBeginningsOfNames(t *testing.T) {
	for _, tt := range []struct {
		list    models.Names
		names   []string
		allowed bool
	}{
		{"", []string{"gpt-5"}, true},
		{"gpt-5", []string{"gpt-5"}, true},
		{"gpt-5", []string{"gpt-5-mini"}, false},
		{"gpt-5", []string{"fast", "gpt-5", "openai/gpt-5"}, true},
		{"claude-*,gpt-5", []string{"claude-opus-5"}, true},
		{"claude-*", []string{"xclaude-opus-5", "gemini/x"}, false},
		{"anthropic/*", []string{"claude-opus-5", "claude-opus-5", "anthropic/claude-opus-5"}, true},
		{"anthropic/*", []string{"gpt-5", "gpt-5", "openai/gpt-5"}, false},
		{"claude-*-5", []string{"claude-opus-5"}, false}, // * is special at the end only
	} {
		l := models.Limits{Models: tt.list}
		if got := l.Allows(tt.names...); got != tt.allowed {
			t.Errorf("%s allows %q: %t", tt.list, tt.names, got)
		}
	}
}
