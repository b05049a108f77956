// Command lists makes the facts of the catalogue: of public lists of models and their prices,
// which it first makes again from the checkouts of their repositories that are named. It is no
// part of the gateway.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"modelgateway/catalog/lists"
)

func main() {
	catalogue := flag.String("catalog", "../catalog", "folder of the facts, and of the lists in lists")
	genaiDir := flag.String("genai", "", "checkout of github.com/pydantic/genai-prices")
	yoDir := flag.String("yoagent", "", "checkout of github.com/yologdev/yoagent")
	devDir := flag.String("models-dev", "", "checkout of github.com/anomalyco/models.dev")
	liteDir := flag.String("litellm", "", "checkout of github.com/RoCry/llm-api-price, which has LiteLLM's price map as it is")
	portDir := flag.String("portkey", "", "checkout of github.com/Portkey-AI/models")
	flag.Parse()
	for _, l := range []struct {
		dir  string
		list lists.List
		read func(dir string) ([]lists.Fact, error)
	}{
		{*genaiDir, lists.List{Name: "genai-prices", Source: "https://github.com/pydantic/genai-prices", Licence: "MIT"}, genai},
		{*devDir, lists.List{Name: "models.dev", Source: "https://github.com/anomalyco/models.dev", Licence: "MIT"}, modelsDev},
		{*liteDir, lists.List{Name: "litellm", Source: "https://github.com/RoCry/llm-api-price", Licence: "MIT"}, litellm},
		{*portDir, lists.List{Name: "portkey", Source: "https://github.com/Portkey-AI/models", Licence: "MIT"}, portkey},
		{*yoDir, lists.List{Name: "yoagent", Source: "https://github.com/yologdev/yoagent", Licence: "MIT"}, yoagent},
	} {
		if l.dir == "" {
			continue
		}
		if err := reduce(l.dir, filepath.Join(*catalogue, "lists"), &l.list, l.read); err != nil {
			fmt.Fprintln(os.Stderr, l.list.Name+":", err)
			os.Exit(1)
		}
	}
	text, err := facts(os.DirFS(filepath.Join(*catalogue, "lists")))
	if err == nil {
		err = os.WriteFile(filepath.Join(*catalogue, "facts.json"), text, 0o644) //nolint:gosec // a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func reduce(dir, out string, list *lists.List, read func(dir string) ([]lists.Fact, error)) error {
	git := exec.CommandContext(context.Background(), "git", "-C", dir, "log", "-1", "--date=format:%Y-%m-%d", "--format=%H %cd")
	stamp, err := git.Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	list.Commit, list.Date, _ = strings.Cut(strings.TrimSpace(string(stamp)), " ")
	if list.Models, err = read(dir); err != nil {
		return err
	}
	text, err := list.Write()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, list.Name+".json"), text, 0o644) //nolint:gosec // a file of the repository
}

// wanted says whether a list's model is one of the provider's own for chat or
// embeddings: no fine-tuned one, and none that only other endpoints serve.
func wanted(provider, id string) bool {
	families := map[string][]string{
		"openai":    {"gpt-*", "chatgpt-*", "o[0-9]*", "codex-*", "computer-use*", "text-embedding-*"},
		"anthropic": {"claude-*"},
		"gemini":    {"gemini-*", "gemma-*", "text-embedding-*"},
	}
	others := []string{
		"*-realtime*", "*-transcribe*", "*-tts*", "gpt-image-*", "*-live-*", "gpt-oss-*", "*:*", "*.ft-*", "gpt-*-image*", "gemini-live-*",
		"gpt-3.5-turbo-instruct*", "gemini-omni-*", "gpt-3.5-0301", "claude-3.5-*", "claude-v1", "gemini-flash-1.5*", "gemini-pro-1.5*",
	}
	matches := func(patterns []string) bool {
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, id); ok {
				return true
			}
		}
		return false
	}
	return matches(families[provider]) && !matches(others)
}
