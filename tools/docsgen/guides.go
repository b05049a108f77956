package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
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
			{"quick-start", "Quick start"}, {"clients", "Clients"}, {"providers", "Providers"},
			{"console", "Web console"}, {"features", "Features"},
		}},
		{"People and money", []guide{
			{"accounts", "Accounts, teams and budgets"}, {"authentication", "Authentication"},
			{"spend", "Rate limits, budgets and the ledger"},
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
	for _, g := range guideGroups() {
		for _, one := range g.Guides {
			if one.Name == name {
				return true
			}
		}
	}
	return false
}

//go:embed guide.html
var guideTemplate string

// guidePage is what the template shows.
type guidePage struct {
	Name, Title string
	Groups      []guideGroup
	Headings    []heading
	Text        template.HTML
}

// renderGuides makes the pages of the folder of documents, and copies the pictures that they
// show. The result is by the name of the file that the gateway embeds: pages are compressed.
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
			page := guidePage{Name: one.Name, Title: read.title, Groups: guideGroups(), Headings: read.headings, Text: read.html}
			if err := layout.Execute(&b, page); err != nil {
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

// writeGuides writes the guides into a folder that has nothing else.
func writeGuides(docs, folder string) error {
	files, err := renderGuides(docs)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".html") {
			name += ".gz"
			if text, err = compress(text); err != nil {
				return fmt.Errorf("compress %s: %w", name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
