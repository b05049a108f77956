package reply

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
)

func agentTool(name string, required ...string) Tool {
	quoted := []string{}
	for _, r := range required {
		quoted = append(quoted, `"`+r+`"`)
	}
	return Tool{Name: name, Schema: jsontext.Value(`{"type":"object","required":[` + strings.Join(quoted, ",") + `]}`)}
}

// agentPrompt is the prompt of an agent in the directory /project.
func agentPrompt(asked string) *Prompt {
	p := New("p", "m")
	p.AddTool(agentTool("Agent", "prompt"))
	p.AddTool(agentTool("Bash", "command"))
	p.AddTool(agentTool("Read", "file_path"))
	p.AddTool(agentTool("Write", "file_path", "content"))
	p.AddUser("<system-reminder>\nwrite hello.go\n</system-reminder>\n")
	p.AddUser(asked)
	p.AddSystem("# Environment\n - Primary working directory: /project\n - Platform: linux")
	return p
}

// run makes the calls of a task until there are none, and returns them with the last
// reply.
func run(t *testing.T, p *Prompt) (steps []string, last Reply) {
	t.Helper()
	for range 10 {
		last = p.Reply(0)
		if len(last.Calls) == 0 {
			return steps, last
		}
		step := ""
		p.AddAssistant(last.Text)
		for _, c := range last.Calls {
			step += c.Name + c.Arguments
			p.AddCall(c.Name, c.Arguments)
		}
		for _, c := range last.Calls {
			p.AddResult(c.Name, "done")
		}
		p.AddUser("<total_tokens>1000 tokens left</total_tokens>")
		steps = append(steps, step)
	}
	t.Fatal("the task does not end")
	return nil, last
}

func TestAgentsTasksAreDoneStepByStep(t *testing.T) {
	for asked, want := range map[string][]string{
		`Create hello.txt that says "hello there"`:             {`Write{"file_path": "/project/hello.txt", "content": "hello there\n"}`},
		"create the file a/b.go containing package b.":         {`Write{"file_path": "/project/a/b.go", "content": "package b\n"}`},
		"Make an empty notes.md":                               {`Write{"file_path": "/project/notes.md", "content": "This file was written by a simulated model.\n"}`},
		`"put tok1 into /tmp/x.txt and read the file back"`:    taskWithReading("/tmp/x.txt", "tok1"),
		"Put `a b` into ~/x.txt, then read it back to be sure": taskWithReading("~/x.txt", "a b"),
		`"create hello.txt that says \"hello there\""`:         {`Write{"file_path": "/project/hello.txt", "content": "hello there\n"}`},
		"Read picture.png and describe it":                     {`Read{"file_path": "/project/picture.png"}`},
	} {
		steps, last := run(t, agentPrompt(asked))
		if !slices.Equal(steps, want) {
			t.Errorf("%s: %q, want %q", asked, steps, want)
		}
		if last.End != EndTurn || !strings.HasPrefix(last.Text, "This is a simulated answer from m. The task is done. The tool ") {
			t.Errorf("%s: %+v", asked, last)
		}
	}
}

func taskWithReading(file, content string) []string {
	return []string{
		`Write{"file_path": "` + file + `", "content": "` + content + `\n"}`,
		`Read{"file_path": "` + file + `"}Bash{"command": "cat '` + file + `'"}`,
	}
}

func TestAgentsAreAnsweredWithTextWhereThereIsNoTask(t *testing.T) {
	for _, asked := range []string{
		"hello", "What is in this folder?", "write a poem", "Version 5.5, e.g. the newest",
		strings.Repeat("Your task is to create a summary. ", 40) + "Write it into a.md.",
	} {
		r := agentPrompt(asked).Reply(0)
		if len(r.Calls) > 0 || !strings.Contains(r.Text, "You said: \"") || !strings.HasSuffix(r.Text, hint) {
			t.Errorf("%.40s: %+v", asked, r)
		}
	}
}

func TestNextQuestionOfAnAgentIsANewTask(t *testing.T) {
	p := agentPrompt("create a.txt")
	run(t, p)
	p.AddAssistant("done")
	p.AddUser("now create b.txt")
	if steps, _ := run(t, p); len(steps) != 1 || !strings.Contains(steps[0], "/project/b.txt") {
		t.Fatalf("%q", steps)
	}
}

func TestSearchLoadsItsToolFirst(t *testing.T) {
	p := agentPrompt("Search the web for model gateways.")
	p.AddTool(agentTool("ToolSearch", "query", "max_results"))
	want := []string{`{"query": "select:WebSearch", "max_results": 1}`, `{"query": "model gateways"}`}
	for i, name := range []string{"ToolSearch", "WebSearch"} {
		r := p.Reply(0)
		if len(r.Calls) != 1 || r.Calls[0].Name != name || r.Calls[0].Arguments != want[i] {
			t.Fatalf("%+v", r)
		}
		p.AddCall(name, r.Calls[0].Arguments)
		p.AddResult(name, "")
		p.AddUser("Tool loaded.")
		p.AddTool(agentTool("WebSearch", "query"))
	}
	if r := p.Reply(0); len(r.Calls) > 0 || !strings.Contains(r.Text, "The task is done.") {
		t.Fatalf("%+v", r)
	}
}

func TestPictureOfAResultKeepsTheTask(t *testing.T) {
	p := agentPrompt("read a.png")
	p.AddCall("Read", "{}")
	p.AddResult("Read", "")
	p.AddImage("data")
	want := "The task is done. The tool Read returned: \"\" With it came 1 image."
	if r := p.Reply(0); len(r.Calls) > 0 || !strings.HasSuffix(r.Text, want) {
		t.Fatalf("%+v", r)
	}
}

func TestCallsOfAnAgentKeepToTheLimits(t *testing.T) {
	p := agentPrompt("put x into a.txt and read it back")
	p.MaxTokens = 18
	if r := p.Reply(0); r.End != EndLength || len(r.Calls) != 1 || r.Calls[0].Complete {
		t.Fatalf("%+v", r)
	}
	p = agentPrompt("put x into a.txt and read it back")
	p.Parallel = false
	p.AddCall("Write", "{}")
	p.AddResult("Write", "ok")
	if r := p.Reply(0); len(r.Calls) != 1 || r.Calls[0].Name != "Read" {
		t.Fatalf("%+v", r)
	}
	p.Choice.Mode = ChoiceNone
	if r := p.Reply(0); len(r.Calls) != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestToolsOfTheProviderAreNotCalled(t *testing.T) {
	p := New("p", "m")
	p.AddTool(Tool{Name: "web_search", Hosted: true})
	p.AddUser("search")
	if r := p.Reply(0); len(r.Calls) > 0 {
		t.Fatalf("%+v", r)
	}
}

// codexPrompt is the prompt of Codex, which has other tools for each family of models.
func codexPrompt(tools ...Tool) *Prompt {
	p := New("p", "m")
	for _, t := range tools {
		p.AddTool(t)
	}
	p.AddUser("<environment_context>\n  <cwd>/project</cwd>\n  <shell>bash</shell>\n</environment_context>")
	p.AddUser(`TASK one: put "it's" into hello.txt and then read the file back to be sure.`)
	return p
}

func TestToolsOfCodexDoTheTask(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: /project/hello.txt\n+it's\n*** End Patch\n"
	command, stdin := agentTool("exec_command", "cmd"), agentTool("write_stdin", "session_id")
	look := `exec_command{"cmd": "cat '/project/hello.txt'"}exec_command{"cmd": "wc -l '/project/hello.txt'"}`
	script := func(command string) string { return `text(await tools.exec_command({cmd: "` + command + `"}));` }
	for name, c := range map[string]struct {
		tools []Tool
		want  []string
	}{
		"functions": {
			[]Tool{command, stdin},
			[]string{`exec_command{"cmd": "printf '%s\\n' 'it'\\''s' > '/project/hello.txt'"}`, look},
		},
		"a custom tool": {[]Tool{command, {Name: "apply_patch", Custom: true}}, []string{"apply_patch" + patch, look}},
		"a custom tool that became a function": {
			[]Tool{command, agentTool("apply_patch", "input")},
			[]string{`apply_patch{"input": ` + string(rawjson.Encode(patch)) + `}`, look},
		},
		"code": {
			[]Tool{{Namespace: "functions", Name: "exec", Custom: true}, agentTool("wait", "cell_id")},
			[]string{
				"exec" + script(`printf '%s\\n' 'it'\\''s' > '/project/hello.txt'`),
				"exec" + script(`cat '/project/hello.txt'`),
			},
		},
		"code that became a function": {
			[]Tool{agentTool("functions__exec", "input"), agentTool("functions__wait", "cell_id")},
			[]string{
				`functions__exec{"input": ` + string(rawjson.Encode(script(`printf '%s\\n' 'it'\\''s' > '/project/hello.txt'`))) + `}`,
				`functions__exec{"input": ` + string(rawjson.Encode(script(`cat '/project/hello.txt'`))) + `}`,
			},
		},
	} {
		if steps, last := run(t, codexPrompt(c.tools...)); !slices.Equal(steps, c.want) || !strings.Contains(last.Text, "The task is done.") {
			t.Errorf("%s: %q, want %q; %+v", name, steps, c.want, last)
		}
	}
	p := codexPrompt(command, stdin, agentTool("view_image", "path"))
	p.AddAssistant("")
	p.AddUser("Read a.png and describe it")
	if steps, _ := run(t, p); !slices.Equal(steps, []string{`view_image{"path": "/project/a.png"}`}) {
		t.Errorf("%q", steps)
	}
}
