package config

import (
	"strings"
	"testing"
)

func TestDotenvSyntax(t *testing.T) {
	tests := []struct{ text, want string }{
		{"HOST=a", "a"}, {"HOST=a\r\n", "a"}, {"\ufeffHOST=a", "a"}, {"  HOST = a  ", "a"}, {"export HOST=a", "a"},
		{"HOST=", ""}, {"HOST= # nothing", ""}, {"HOST=a # comment", "a"}, {"HOST=a\t# comment", "a"},
		{"HOST=a#b", "a#b"}, {"HOST=#b", "#b"},
		{"HOST=a=b", "a=b"}, {"HOST=a b", "a b"}, {`HOST=a"b'c\n`, `a"b'c\n`},
		{"HOST='a # $b \\n'", `a # $b \n`}, {"HOST='a' # comment", "a"}, {"HOST=''", ""}, {"HOST='\"a\"'", `"a"`},
		{`HOST="a # b"`, "a # b"}, {`HOST="a\"b\\c\$d\n\r\t"`, "a\"b\\c$d\n\r\t"}, {`HOST="a"#x`, "a"}, {`HOST=" a "`, " a "},
		{"# HOST=b\n\n#x\nHOST=a\nCOMPOSE_PROJECT_NAME=c\nCOMPOSE_PROJECT_NAME=d", "a"},
	}
	for _, test := range tests {
		vars, faults := newLoader(TestProviders).parseDotenv(test.text)
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
		{"\n" + p + "=x", "line 2: the name is not that of a setting"},
		{strings.ToUpper(p[:20]) + "=", "line 1: the name is not that of a setting"},
		{"OPENAI_KEY=" + p, "line 1: OPENAI_KEY is not a setting; did you mean OPENAI_API_KEY?"},
		{"CLAUDE_API_KEY=" + p, "line 1: CLAUDE_API_KEY is not a setting; did you mean ANTHROPIC_API_KEY?"},
		{"CLAUDE_KEY=" + p, "line 1: CLAUDE_KEY is not a setting; did you mean ANTHROPIC_API_KEY?"},
		{"SOME_KEY=" + p, "line 1: SOME_KEY is not a setting"},
		{"REDIS=" + p, "line 1: REDIS is not a setting"},
		{"PROT=80", "line 1: PROT is not a setting; did you mean PORT?"},
		{"RATE_LIMIT=80", "line 1: RATE_LIMIT is not a setting; did you mean RATE_LIMIT_RPM?"},
		{"JWT_SECRET=" + p + "\x00", "not valid UTF-8"},
		{"JWT_SECRET=" + p + "\xff", "not valid UTF-8"},
	}
	for _, test := range tests {
		_, err := load(nil, write(t, ".env", test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), p) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func TestUnreadableDotenvIsAFault(t *testing.T) {
	dir := t.TempDir()
	if _, err := load(nil, dir); err == nil || err.Error() != dir+": the file cannot be read: is a directory" {
		t.Errorf("got %v", err)
	}
}
