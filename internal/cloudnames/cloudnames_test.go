package cloudnames_test

import (
	"testing"

	"modelgateway/internal/cloudnames"
)

func TestClaudeNamesBecomeIDs(t *testing.T) {
	for _, tt := range []struct{ region, name, want string }{
		{"us-east-1", "claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"us-east-1", "claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"us-west-2", "claude-sonnet-5", "us.anthropic.claude-sonnet-5"},
		{"eu-central-1", "claude-opus-4-6", "eu.anthropic.claude-opus-4-6-v1"},
		{"eu-west-1", "claude-sonnet-4-6", "eu.anthropic.claude-sonnet-4-6"},
		{"ap-northeast-1", "claude-sonnet-4-20250514", "apac.anthropic.claude-sonnet-4-20250514-v1:0"},
		{"ap-northeast-1", "claude-3-5-sonnet-20241022", "apac.anthropic.claude-3-5-sonnet-20241022-v2:0"},
		{"ap-northeast-1", "claude-sonnet-4-5-20250929", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"ap-southeast-2", "claude-opus-5", "global.anthropic.claude-opus-5"},
		{"sa-east-1", "claude-opus-5", "global.anthropic.claude-opus-5"},
		{"us-gov-west-1", "claude-sonnet-4-5-20250929", "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"", "claude-opus-5", "global.anthropic.claude-opus-5"},
		{"us-east-1", "jp.anthropic.claude-sonnet-4-6", "jp.anthropic.claude-sonnet-4-6"},
		{"us-east-1", "amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"},
		{"us-east-1", "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab", "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab"},
	} {
		if got := cloudnames.ID(tt.region, tt.name); got != tt.want {
			t.Errorf("ID(%q, %q) = %q, want %q", tt.region, tt.name, got, tt.want)
		}
	}
}

func TestIDsSayTheirFamily(t *testing.T) {
	for id, want := range map[string][2]string{
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":  {"anthropic", "claude-sonnet-4-5-20250929"},
		"anthropic.claude-3-5-sonnet-20241022-v2:0":     {"anthropic", "claude-3-5-sonnet-20241022"},
		"global.anthropic.claude-opus-4-6-v1":           {"anthropic", "claude-opus-4-6"},
		"eu.anthropic.claude-sonnet-4-6":                {"anthropic", "claude-sonnet-4-6"},
		"us-gov.anthropic.claude-sonnet-5":              {"anthropic", "claude-sonnet-5"},
		"claude-opus-5":                                 {"anthropic", "claude-opus-5"},
		"claude-sonnet-4-5@20250929":                    {"anthropic", "claude-sonnet-4-5-20250929"},
		"claude-opus-4-6@default":                       {"anthropic", "claude-opus-4-6"},
		"amazon.nova-pro-v1:0":                          {"amazon", "nova-pro"},
		"apac.amazon.nova-lite-v1:0":                    {"amazon", "nova-lite"},
		"amazon.nova-premier-v1:0:300k":                 {"amazon", "nova-premier"},
		"amazon.titan-embed-text-v2:0":                  {"amazon", "titan-embed-text-v2"},
		"cohere.embed-v4:0":                             {"cohere", "embed-v4"},
		"us.cohere.embed-v4:0":                          {"cohere", "embed-v4"},
		"cohere.embed-multilingual-v3":                  {"cohere", "embed-multilingual-v3"},
		"openai.gpt-oss-120b-1:0":                       {"openai", "gpt-oss-120b"},
		"openai.gpt-5.6-terra":                          {"openai", "gpt-5.6-terra"},
		"us.meta.llama3-1-70b-instruct-v1:0":            {"meta", "llama3-1-70b-instruct"},
		"mistral.mistral-large-2407-v1:0":               {"mistral", "mistral-large-2407"},
		"deepseek.v3.2":                                 {"deepseek", "v3.2"},
		"us.deepseek.r1-v1:0":                           {"deepseek", "r1"},
		"moonshotai.kimi-k2.5":                          {"moonshotai", "kimi-k2.5"},
		"ai21.jamba-1-5-large-v1:0":                     {"ai21", "jamba-1-5-large"},
		"my-own-model":                                  {"", ""},
		"":                                              {"", ""},
		"arn:aws:bedrock:us-east-1:1:inference-profile": {"", ""},
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0": {"anthropic", "claude-sonnet-4-20250514"},
		"arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-micro-v1:0":            {"amazon", "nova-micro"},
		"arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2.c3":                        {"", ""},
		"arn:aws:bedrock:us-east-1:1:imported-model/abc":                                           {"", ""},
	} {
		if vendor, name := cloudnames.Family(id); vendor != want[0] || name != want[1] {
			t.Errorf("Family(%q) = %q, %q, want %q", id, vendor, name, want)
		}
	}
}

func TestClaudeNamesBecomeVertexIDs(t *testing.T) {
	for name, want := range map[string]string{
		"claude-sonnet-4-5-20250929": "claude-sonnet-4-5@20250929", "claude-opus-4-6": "claude-opus-4-6",
		"claude-sonnet-4-5@20250929": "claude-sonnet-4-5@20250929",
	} {
		if got := cloudnames.Vertex(name); got != want {
			t.Errorf("Vertex(%q) = %q, want %q", name, got, want)
		}
	}
}
