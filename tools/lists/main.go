// Command lists makes the lists of catalog/lists from checkouts of their repositories, and merges all lists into the
// facts of the catalogue. It is make catalogue, and runs in the folder tools:
//
//	lists genai-prices=DIR models.dev=DIR
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modelgateway/catalog/lists"
)

const folder = "../catalog/lists"

// The providers that sell models of others.
const bedrock, vertex = "bedrock", "vertex"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(checkouts []string) error {
	for _, checkout := range checkouts {
		name, dir, _ := strings.Cut(checkout, "=")
		i := slices.IndexFunc(sources(), func(s source) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("there is no list %q", name)
		}
		if dir == "" {
			continue
		}
		if err := sources()[i].reduce(dir); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	text, err := facts(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(folder+"/../facts.json", text, 0o644) //nolint:gosec // a file of the repository
}

// reduce writes what is taken of a checkout.
func (s *source) reduce(dir string) error {
	git := exec.CommandContext(context.Background(), "git", "-C", dir, "log", "-1", "--date=format:%Y-%m-%d", "--format=%H %cd")
	stamp, err := git.Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	list := lists.List{Name: s.name, Source: "https://github.com/" + s.repository, Licence: "MIT"}
	list.Commit, list.Date, _ = strings.Cut(strings.TrimSpace(string(stamp)), " ")
	providers := map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
	maps.Copy(providers, s.clouds)
	for theirs, provider := range providers {
		files, err := filepath.Glob(filepath.Join(dir, strings.ReplaceAll(s.files, "PROVIDER", theirs)))
		if provider == vertex {
			files, err = filepath.Glob(filepath.Join(dir, "providers", theirs, "models/*/*.toml"))
		}
		if err != nil || len(files) == 0 {
			return errors.Join(err, errors.New("no file of "+theirs))
		}
		for _, file := range files {
			models, err := s.read(dir, file, theirs)
			if err == nil {
				err = s.add(&list, provider, models)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	text, err := list.Write()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, s.name+".json"), text, 0o644) //nolint:gosec // a file of the repository
}

// read returns the models of a file by their names.
func (s *source) read(dir, file, theirs string) (entry, error) {
	var root entry
	if err := readFile(file, &root); err != nil {
		return nil, err
	}
	if filepath.Ext(file) == ".toml" {
		if base := textAt(root, "base_model"); base != "" { // a file with the members that this one does not set
			root = nil
			if err := errors.Join(readFile(filepath.Join(dir, "models", base+".toml"), &root), readFile(file, &root)); err != nil {
				return nil, err
			}
		}
		_, name, _ := strings.Cut(filepath.ToSlash(file), "/"+theirs+"/models/")
		return entry{strings.TrimSuffix(name, ".toml"): root}, nil
	}
	found := at(root, strings.ReplaceAll(s.models, "PROVIDER", theirs))
	if models, ok := found.(entry); ok {
		return models, nil
	}
	models := entry{}
	for _, m := range listAt(found, "") {
		models[textAt(m, "id")] = m
	}
	return models, nil
}

// add adds what is taken of the models to a list. Where several are of one family, the first has what the others have besides.
func (s *source) add(list *lists.List, provider string, models entry) error {
	for _, name := range slices.Sorted(maps.Keys(models)) {
		id := strings.TrimPrefix(name, provider+"/")
		if !wanted(provider, id) {
			continue
		}
		fact, err := s.fact(provider, id, models[name])
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		fact.Provider, fact.ID = provider, cmp.Or(fact.ID, id)
		known := slices.IndexFunc(list.Models, func(f lists.Fact) bool { return f.Provider == provider && f.ID == fact.ID })
		switch {
		case fact.Output == nil && (len(fact.Prices) == 0 || fact.Prices[0] == lists.Price{}):
		case known < 0:
			list.Models = append(list.Models, fact)
		default:
			list.Models[known].Prices[0].Fill(&fact.Prices[0])
		}
	}
	return nil
}

// wanted says whether a list's model is one of the provider's own for chat or
// embeddings: no fine-tuned one, and none that only other endpoints serve.
func wanted(provider, id string) bool {
	if provider == bedrock { // Claude costs what Anthropic asks, and a profile what its model does
		vendor, name, _ := strings.Cut(id, ".")
		return vendor != "anthropic" && len(vendor) > 2 && !strings.HasPrefix(name, "anthropic.") && !strings.HasPrefix(name, "voxtral")
	}
	families := map[string][]string{
		vertex:      {"*/*"},
		"openai":    {"gpt-*", "chatgpt-*", "o[0-9]*", "codex-*", "computer-use*", "text-embedding-*"},
		"anthropic": {"claude-*"},
		"gemini":    {"gemini-*", "gemma-*", "text-embedding-*"},
	}
	others := []string{
		"*-realtime*", "*-transcribe*", "*-tts*", "gpt-image-*", "*-live-*", "gpt-oss-*", "*:*", "*.ft-*", "gpt-*-image*", "gemini-live-*",
		"gpt-3.5-turbo-instruct*", "gemini-omni-*", "gpt-3.5-0301", "claude-3.5-*", "claude-v1", "gemini-flash-1.5*", "gemini-pro-1.5*",
	}
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, id)
		return ok
	}
	return slices.ContainsFunc(families[provider], matches) && !slices.ContainsFunc(others, matches)
}
