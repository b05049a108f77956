package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sold is a cloud that sells Claude at a tenth more outside the region global.
func sold(region string) Preset {
	return Preset{
		Name: "cloud", Type: Anthropic, On: true, Region: region,
		Owner: func(id string) (string, string) {
			if name, ok := strings.CutPrefix(id, "anthropic."); ok || strings.HasPrefix(id, "claude-") {
				return Anthropic, name
			}
			return "", ""
		},
		Regional: func(region, id string) bool { return region != "global" && strings.Contains(id, "claude-") },
		Rules:    []Rule{{Match: []string{"*.own-model"}, Traits: Traits{Sampling: SamplingNone}}},
	}
}

func TestACloudsModelHasTheTraitsAndThePriceOfItsMaker(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := `
providers:
  - {name: cloud-eu, preset: cloud, region: eu-west-1, models: [{id: claude-opus-5, upstream: 'arn:of:an/account'}]}
  - {name: cloud-global, preset: cloud, region: global}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, sold("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := c.Named(Anthropic, "claude-opus-5")
	for _, tt := range []struct {
		provider, id string
		rate         int64
	}{
		{"cloud", "claude-opus-5", 5_500_000},
		{"cloud", "anthropic.claude-opus-5", 5_500_000},
		{"cloud-eu", "claude-opus-5", 5_500_000},
		{"cloud-eu", "anthropic.claude-opus-5", 5_500_000},
		{"cloud-global", "anthropic.claude-opus-5", 5_000_000},
	} {
		m, ok := c.At(tt.provider, tt.id)
		if !ok {
			m, ok = c.Named(tt.provider, tt.id)
		}
		if !ok {
			t.Errorf("%s has no %s", tt.provider, tt.id)
			continue
		}
		if m.Price.Rates[InputTokens] != tt.rate || m.Context != own.Context || m.Traits.Sampling != own.Traits.Sampling ||
			strings.Join(m.Traits.Thinking, " ") != strings.Join(own.Traits.Thinking, " ") {
			t.Errorf("%s/%s: %+v, %d, %+v", tt.provider, tt.id, m.Price.Rates, m.Context, m.Traits)
		}
	}
	if m := c.Derive("cloud", "a.own-model"); m.Traits.Sampling != SamplingNone || m.Price.Known {
		t.Errorf("%+v", m)
	}
}

func TestAccountsOfClouds(t *testing.T) {
	load := func(auth string) (*Catalog, error) {
		file := filepath.Join(t.TempDir(), "models.yaml")
		text := "providers:\n  - name: mine\n    preset: cloud\n    auth: " + auth + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(file, sold("us-east-1"))
	}
	c, err := load("{aws: {profile: prod, role: 'arn:aws:iam::1:role/x', tags: [user, team], access_key_id: AKIA, secret_access_key: {env: PROD_SECRET}}}")
	if err != nil {
		t.Fatal(err)
	}
	a := c.provider("mine").Account
	if a.Profile != "prod" || a.Role == "" || len(a.Tags) != 2 || a.AccessKeyID != "AKIA" || a.Secret.Env != "PROD_SECRET" || a.Region != "us-east-1" {
		t.Errorf("%+v", a)
	}
	if c, err = load("{azure: {tenant: t, client_id: c, client_secret: {file: /run/secrets/azure}}}"); err != nil ||
		c.provider("mine").Account.Secret.File != "/run/secrets/azure" {
		t.Errorf("%v", err)
	}
	for auth, want := range map[string]string{
		"{aws: {secret_access_key: AKIAabcdefgh}}": "a key is never in this file",
		"{aws: {client_id: x}}":                    "aws has secret_access_key, profile",
		"{google: {'': x}}":                        "google has",
		"{gcp: {file: x}}":                         "auth must be bearer, none, {header: NAME}, or one of",
		"{aws: prod}":                              "auth must be",
		"{aws: {tags: prod}}":                      "line 4",
	} {
		if _, err := load(auth); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "AKIAabcdefgh") {
			t.Errorf("%s: %v", auth, err)
		}
	}
}
