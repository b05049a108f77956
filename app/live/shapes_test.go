package live

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
)

var update = flag.Bool("update", false, "widen the shapes by the recordings")

// plain are the project's recordings of answers as the providers give them; the others are faulty or rare on purpose.
var plain = []string{
	"anthropic/answer.json", "anthropic/stream.sse", "anthropic/tool_answer.json", "anthropic/tool_stream.sse", "anthropic/thinking_stream.sse",
	"anthropic/parallel_tools_stream.sse", "anthropic/error_404.json", "anthropic/error_400.json",
	"openai/answer.json", "openai/stream.sse", "openai/tool_answer.json", "openai/tool_stream.sse", "openai/error_400.json", "openai/error_404.json",
	"openai-responses/answer.json", "openai-responses/text_stream.sse", "openai-responses/reasoning_stream.sse", "openai-responses/tools_stream.sse",
	"openai-responses/error_400.json", "openai-responses/incomplete_stream.sse", "anthropic/max_tokens_answer.json", "openai/max_tokens_answer.json",
	"gemini/max_tokens_answer.json", "gemini/max_tokens_stream.sse", "gemini/cached_answer.json",
	"gemini/answer.json", "gemini/stream.sse", "gemini/tool_answer.json", "gemini/tool_stream.sse", "gemini/thinking_stream.sse", "gemini/error_400.json",
}

// rare are parts of the names of what no call of a check asks for.
var rare = []string{
	"_tool_result", "advisor", "compaction", "mcp", "server_tool", "web_search", "iterations", "code_interpreter", "file_search", "citation",
	"urlContext", "codeExecution", "executableCode", "toolCall", "toolResponse", "inlineData", "image_generation", "custom_tool", "container", "caller(code",
	"computer", "shell", "apply_patch", "audio_",
}

type entry struct {
	File, Provider, API string
	Stream              bool
	Status              int `json:"http_status"`
}

// formNames are the forms of the APIs of recordings.
func (e entry) form() string {
	path := map[string]string{"responses": "/v1/responses", "count_tokens": "/count_tokens", "embeddings": "/v1/embeddings", "models": "/v1/models"}[e.API]
	if path == "" {
		path = map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "gemini": ":generateContent"}[e.Provider]
	}
	return formOf(e.Provider, path, e.Status, e.Stream)
}

func recordings(t *testing.T, dir string) (all []entry) {
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e entry) bool {
		if dir == providertest.Own() {
			return !slices.Contains(plain, e.File)
		}
		return e.API == "synthetic" || e.API == "compat" || strings.Contains(e.File, "variant") || strings.Contains(e.File, "fb_vtx")
	})
}

// Every recorded answer is as expected. -update widens the shapes by those that are not, whose differences should be looked at.
func TestRecordedAnswersAreAsExpected(t *testing.T) {
	all, err := readShapes(known)
	if err != nil {
		t.Fatal(err)
	}
	dir := providertest.Dir()
	judged := recordings(t, dir)
	for _, e := range judged {
		body, err := os.ReadFile(filepath.Join(dir, e.File))
		if err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(body, e.Stream)
		if err != nil {
			t.Errorf("%s: %v", e.File, err)
			continue
		}
		f := all.form(e.form())
		if *update {
			f.learn(a)
			continue
		}
		for _, d := range f.compare(a) {
			if !d.Minor {
				t.Errorf("%s: %s", e.File, d.What)
			}
		}
	}
	if len(judged) < len(plain) {
		t.Errorf("%d recordings", len(judged))
	}
	for _, f := range all {
		maps.DeleteFunc(f.nodes, func(node string, _ map[string]*member) bool {
			return slices.ContainsFunc(rare, func(part string) bool { return strings.Contains(node, part) })
		})
		maps.DeleteFunc(f.after, func(event string, _ map[string]bool) bool {
			return slices.ContainsFunc(rare, func(part string) bool { return strings.Contains(event, part) })
		})
	}
	head, _, _ := strings.Cut(known, "\n\n")
	if text := head + "\n" + all.String(); *update {
		if err := os.WriteFile("shapes.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != known {
		t.Error("shapes.txt is not as it would be written")
	}
}

// learn widens a form by an answer that is as it should be.
func (f *form) learn(a answer) {
	for _, value := range a.values {
		walk("", value, f.learnObject)
	}
	if !a.stream {
		return
	}
	last := begin
	for _, label := range append(slices.Clone(a.labels), end) {
		if f.after[last] == nil {
			f.after[last] = map[string]bool{}
		}
		f.after[last][label] = true
		last = label
	}
	if f.always == nil {
		f.always = setOf(a.labels)
	}
	maps.DeleteFunc(f.always, func(label string, _ bool) bool { return !slices.Contains(a.labels, label) })
}

func (f *form) learnObject(node string, object map[string]any) bool {
	have, seen := f.nodes[node]
	if !seen {
		have = map[string]*member{}
		f.nodes[node] = have
	}
	for name, m := range have {
		if _, is := object[name]; !is {
			m.optional = true
		}
	}
	for name, value := range object {
		if have[name] == nil {
			have[name] = &member{types: map[string]bool{}, optional: seen}
		}
		have[name].types[typeOf(value)] = true
	}
	return true
}

// String is a line for each member and for each event, in order.
func (s shapes) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "\n%s\n", name)
		f := s[name]
		for _, node := range slices.Sorted(maps.Keys(f.nodes)) {
			for _, name := range slices.Sorted(maps.Keys(f.nodes[node])) {
				m, mark := f.nodes[node][name], ""
				if m.optional {
					mark = "?"
				}
				fmt.Fprintf(&b, "  %s.%s%s %s\n", node, name, mark, strings.Join(slices.Sorted(maps.Keys(m.types)), "|"))
			}
		}
		for _, event := range slices.Sorted(maps.Keys(f.after)) {
			fmt.Fprintf(&b, "  %s > %s\n", event, strings.Join(slices.Sorted(maps.Keys(f.after[event])), " "))
		}
		if len(f.always) > 0 {
			fmt.Fprintf(&b, "  always %s\n", strings.Join(slices.Sorted(maps.Keys(f.always)), " "))
		}
	}
	return b.String()
}
