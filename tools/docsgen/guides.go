package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
)

// guideGroup is a part of the list of guides, in the order in which they are read.
type guideGroup struct {
	Name   string
	Guides []guide
}

// guide is a page of docs/ that the binary serves at /docs/NAME.
type guide struct {
	Name, Label string
}

func guideGroups() []guideGroup {
	return []guideGroup{
		{"Start", []guide{
			{"quick-start", "Quick start"}, {"clients", "Clients"}, {"sign-in", "Agents sign in"}, {"codex", "Codex"},
			{"litellm", "Coming from LiteLLM"}, {"providers", "Providers"}, {"clouds", "Models of clouds"}, {"console", "Web console"},
			{"features", "Features"},
		}},
		{"People and money", []guide{
			{"accounts", "Accounts, teams and budgets"}, {"finance", "Who spent what on what"},
			{"sessions", "What a session costs"}, {"security", "Sign-on, audit and secrets"},
			{"authentication", "Authentication"}, {"spend", "Budgets, limits, prices and the ledger"},
		}},
		{"Operation", []guide{
			{"deploy", "Deploy"}, {"production-checklist", "Production checklist"}, {"configuration", "Configuration"},
			{"reverse-proxies", "Reverse proxies"}, {"kubernetes", "Kubernetes"}, {"operations", "Monitoring and operations"},
			{"backup", "Backup and restore"}, {"upgrade", "Install and upgrade"},
		}},
		{"When something fails", []guide{{"troubleshooting", "Troubleshooting"}, {"errors", "Errors"}}},
		{"Background", []guide{
			{"design", "Architecture"}, {"reliability", "Reliability"}, {"performance", "Performance"}, {"scaling", "Scaling"},
		}},
	}
}

func isGuide(name string) bool {
	return slices.ContainsFunc(guideGroups(), func(group guideGroup) bool {
		return slices.ContainsFunc(group.Guides, func(g guide) bool { return g.Name == name })
	})
}

//go:embed guide.html
var guideTemplate string

// renderGuides makes the pages of the folder of documents, and copies the pictures that they
// show. The result is by name.
func renderGuides(docs string) (map[string][]byte, error) {
	layout, err := template.New("guide").Parse(guideTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	files := map[string][]byte{}
	for _, group := range guideGroups() {
		for _, one := range group.Guides {
			text, err := os.ReadFile(filepath.Join(docs, one.Name+".md"))
			if err != nil {
				return nil, err
			}
			read, err := readGuide(text)
			if err != nil {
				return nil, fmt.Errorf("%s.md: %w", one.Name, err)
			}
			var b bytes.Buffer
			if err := layout.Execute(&b, map[string]any{"Name": one.Name, "Page": read, "Groups": guideGroups()}); err != nil {
				return nil, fmt.Errorf("execute template: %w", err)
			}
			files[one.Name+".html"] = b.Bytes()
			for _, picture := range read.pictures {
				if files[filepath.Base(picture)], err = os.ReadFile(filepath.Join(docs, picture)); err != nil {
					return nil, err
				}
			}
		}
	}
	return files, nil
}
