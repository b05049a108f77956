package config

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDotenvSyntax(t *testing.T) {
	tests := []struct{ text, want string }{
		{"HOST=a", "a"}, {"HOST=a\r\n", "a"}, {"\ufeffHOST=a", "a"}, {"  HOST = a  ", "a"}, {"export HOST=a", "a"},
		{"HOST=", ""}, {"HOST= # nothing", ""}, {"HOST=a # comment", "a"}, {"HOST=a\t# comment", "a"}, {"HOST=a#b", "a#b"}, {"HOST=#b", "#b"},
		{"HOST=a=b", "a=b"}, {"HOST=a b", "a b"}, {`HOST=a"b'c\n`, `a"b'c\n`},
		{"HOST='a # $b \\n'", `a # $b \n`}, {"HOST='a' # comment", "a"}, {"HOST=''", ""}, {"HOST='\"a\"'", `"a"`},
		{`HOST="a # b"`, "a # b"}, {`HOST="a\"b\\c\$d\n\r\t"`, "a\"b\\c$d\n\r\t"}, {`HOST="a"#x`, "a"}, {`HOST=" a "`, " a "},
		{"# HOST=b\n\n#x\nHOST=a\nOTHER=c\nOTHER=d", "a"},
	}
	for _, test := range tests {
		vars, faults := parseDotenv(test.text)
		if got, ok := vars["HOST"]; len(faults) > 0 || got != test.want || !ok {
			t.Errorf("%q: got %q, faults %q", test.text, vars, faults)
		}
	}
}

func TestDotenvFaultsNameTheLineAndNeverShowIt(t *testing.T) {
	const p = plantedSecret
	tests := []struct{ text, want string }{
		{p, "line 1: not in the form NAME=value"},
		{"PORT=1\n\nJWT_SECRET='" + p, "line 3: JWT_SECRET: "},
		{"JWT_SECRET=a$" + p, "line 1: JWT_SECRET: a $ would be"},
		{"JWT_SECRET=\"${" + p + "}\"", "line 1: JWT_SECRET: a $ would be"},
		{"JWT_SECRET='" + p, "line 1: JWT_SECRET: the quote is not closed"},
		{"JWT_SECRET=\"" + p, "line 1: JWT_SECRET: the quote is not closed"},
		{"JWT_SECRET=\"" + p + "\\", "line 1: JWT_SECRET: the quote is not closed"},
		{"JWT_SECRET='" + p + "'" + p, "line 1: JWT_SECRET: there is more"},
		{"JWT_SECRET=\"" + p + "\"x", "line 1: JWT_SECRET: there is more"},
		{`JWT_SECRET="\x` + p + `"`, "line 1: JWT_SECRET: in double quotes only"},
		{"JWT_SECRET=" + p + "\nJWT_SECRET=" + p, "line 2: JWT_SECRET is set a second time"},
		{"=" + p, "line 1: not in the form"},
		{"UNKNOWN='" + p, "line 1: the quote is not closed"},
		{p + "='x", "line 1: the quote is not closed"},
		{"JWT_SECRET=" + p + "\x00", "not valid UTF-8"},
		{"JWT_SECRET=" + p + "\xff", "not valid UTF-8"},
	}
	for _, test := range tests {
		_, err := Load(nil, write(t, ".env", test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), p) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func TestUnreadableDotenvIsAFault(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(nil, dir); err == nil || err.Error() != dir+": the file cannot be read: is a directory" {
		t.Errorf("got %v", err)
	}
}

var update = flag.Bool("update", false, "add missing settings to .env.example and docker-compose.yml")

// addSettings writes a file with a block for each setting that it has none for, after
// that of the setting before. mark is the beginning of a setting's last line.
func addSettings(t *testing.T, file string, settings []Setting, mark, block func(Setting) string) {
	t.Helper()
	path := filepath.Join("..", file)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, end := string(content), 0
	for _, s := range settings {
		if !strings.Contains(text, "\n"+mark(s)) {
			text = text[:end] + block(s) + text[end:]
		}
		at := strings.Index(text, "\n"+mark(s)) + 1
		end = at + strings.Index(text[at:], "\n") + 1
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func updateSettings(t *testing.T) {
	t.Helper()
	addSettings(t, ".env.example", Settings(), func(s Setting) string { return "#" + s.Name + "=" },
		func(s Setting) string { return "\n# " + s.Doc + "\n#" + s.Name + "=" + s.Default + "\n" })
	// The container's own address is not that of the host.
	passed := slices.DeleteFunc(Settings(), func(s Setting) bool { return s.Name == "HOST" || s.Name == "PORT" })
	addSettings(t, "docker-compose.yml", passed, func(s Setting) string { return "      " + s.Name + ": " },
		func(s Setting) string { return "      " + s.Name + ": ${" + s.Name + ":-}\n" })
}

// The example has a line for each setting with its documentation and default,
// and nothing else.
func TestExampleShowsEverySettingAndItsDefault(t *testing.T) {
	if *update {
		updateSettings(t)
	}
	text, err := os.ReadFile(filepath.Join("..", ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]Setting)
	for _, s := range Settings() {
		want[s.Name] = s
	}
	lines := strings.Split(string(text), "\n")
	var live []string
	for i, line := range lines {
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		if !ok || strings.HasPrefix(name, " ") {
			continue
		}
		live = append(live, name+"="+value)
		s, known := want[name]
		if !known {
			t.Errorf("%s is not a setting, or is there twice", name)
			continue
		}
		if line != "#"+name+"="+s.Default || lines[i-1] != "# "+s.Doc {
			t.Errorf("the example has\n%s\n%s\nbut the code says\n# %s\n#%s=%s", lines[i-1], line, s.Doc, name, s.Default)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing in the example: %v", slices.Sorted(maps.Keys(want)))
	}

	defaults := mustLoad(t, "")
	if got := mustLoad(t, filepath.Join("..", ".env.example")); got.Addr() != defaults.Addr() {
		t.Errorf("the unedited example gives %+v", got)
	}
	got := mustLoad(t, write(t, ".env", strings.Join(live, "\n")))
	if got.Addr() != defaults.Addr() || got.PublicURL != defaults.PublicURL || got.OpenAI.BaseURL != defaults.OpenAI.BaseURL {
		t.Errorf("the uncommented example gives %+v", got)
	}
}

func TestSettingsAreDescribed(t *testing.T) {
	for _, s := range Settings() {
		if s.Name != strings.ToUpper(s.Name) || len(s.Doc) < 20 || !strings.HasSuffix(s.Doc, ").") || strings.Contains(s.Doc, "\n") {
			t.Errorf("%+v", s)
		}
	}
}
