// Package cloudnames knows how Amazon Bedrock and Google Vertex AI name the models of other
// vendors.
package cloudnames

import (
	"regexp"
	"strings"
)

const anthropic = "anthropic"

// ID is Bedrock's id of a Claude model that is named as Anthropic names it: that of the inference
// profile which a region's calls go through. Any other name is an id already.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock-legacy, 2026-11
func ID(region, name string) string {
	if !strings.HasPrefix(name, "claude-") {
		return name
	}
	if full, ok := releases[name]; ok {
		name = full
	}
	return geo(region, name) + ".anthropic." + name + version(name)
}

// releases are the models whose short name Bedrock does not know.
var releases = map[string]string{
	"claude-opus-4-0": "claude-opus-4-20250514", "claude-sonnet-4-0": "claude-sonnet-4-20250514",
	"claude-opus-4-1": "claude-opus-4-1-20250805", "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
	"claude-haiku-4-5": "claude-haiku-4-5-20251001", "claude-opus-4-5": "claude-opus-4-5-20251101",
}

// geo is the area inside which a model's calls stay. In Asia only the models up to Sonnet 4 have
// one that all regions share; the later ones have global, and jp and au, which have to be named.
func geo(region, name string) string {
	switch {
	case strings.HasPrefix(region, "us-gov-"):
		return "us-gov"
	case strings.HasPrefix(region, "us-"):
		return "us"
	case strings.HasPrefix(region, "eu-"):
		return "eu"
	case strings.HasPrefix(region, "ap-") && (strings.HasPrefix(name, "claude-3-") || name == "claude-sonnet-4-20250514"):
		return "apac"
	}
	return "global"
}

// version is the end of an id. Bedrock's own versions are usually 1; since Claude 4.6 there are none.
func version(name string) string {
	switch {
	case name == "claude-3-5-sonnet-20241022":
		return "-v2:0"
	case name == "claude-opus-4-6":
		return "-v1"
	case dated.MatchString(name):
		return "-v1:0"
	}
	return ""
}

var dated = regexp.MustCompile(`-(20\d{6})$`)

// Vertex is Vertex AI's id of a Claude model that is named as Anthropic names it.
func Vertex(name string) string { return dated.ReplaceAllString(name, "@$1") }

// Family is the vendor of a model and the vendor's own name of it, from an id of Bedrock's, the
// ARN of an inference profile or model, Anthropic's name or Vertex AI's id of a Claude model. Both
// are empty where the id does not say them, as that of an application's inference profile.
func Family(id string) (vendor, name string) {
	id = Base(id)
	if strings.HasPrefix(id, "claude-") {
		return anthropic, strings.Replace(strings.TrimSuffix(id, "@default"), "@", "-", 1)
	}
	vendor, name, named := strings.Cut(id, ".")
	if !named {
		return "", ""
	}
	name, _, hasColon := strings.Cut(name, ":")
	ofProduct := strings.HasPrefix(name, "titan-") || strings.HasPrefix(name, "embed-") // whose version is a part of the name
	if !ofProduct && (hasColon || vendor == anthropic) {
		name = unversioned(name)
	}
	return vendor, name
}

// unversioned is a name without the version that Bedrock has put at its end, as in -v1 or -1.
func unversioned(name string) string {
	at := strings.LastIndexByte(name, '-')
	if version := strings.TrimPrefix(name[at+1:], "v"); at > 0 && len(version) == 1 && (version == "1" || name[at+1] == 'v') {
		return name[:at]
	}
	return name
}

// Base is the id of the model behind that of an inference profile: without the head of an ARN and
// the area.
func Base(id string) string {
	if strings.HasPrefix(id, "arn:") {
		arn := arnModel.FindStringSubmatch(id)
		if arn == nil {
			return "" // of the account, whose names say nothing
		}
		id = arn[1]
	}
	if area, rest, ok := strings.Cut(id, "."); ok && (len(area) == 2 || area == "apac" || area == "global" || area == "us-gov") {
		return rest
	}
	return id
}

var arnModel = regexp.MustCompile(`^arn:[^:]*:bedrock:[^:]*:[^:]*:(?:inference-profile|foundation-model)/(.*)$`)

// Premium says whether a model is a Claude that costs a tenth more where its calls stay in a
// region: each one since Sonnet 4.5. https://platform.claude.com/docs/en/about-claude/pricing, 2026-11
func Premium(id string) bool {
	vendor, name := Family(id)
	return vendor == anthropic && !onePrice.MatchString(name)
}

var onePrice = regexp.MustCompile(`^claude-(2|3|instant|(opus|sonnet)-4(-0|-1|-2025|$))`)
