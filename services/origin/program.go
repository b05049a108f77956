package origin

import (
	"cmp"
	"strings"
	"sync"
)

// Codex is the name of OpenAI's coding agent.
const Codex = "codex"

// programs are the names of known programs by what they call themselves, in lower case.
var programs = map[string]string{
	"claude-cli": "claude-code", "claude-code": "claude-code",
	"codex_exec": Codex, "codex_cli_rs": Codex, "codex-tui": Codex, "codex_vscode": Codex, "codex_sdk_ts": Codex, "codex desktop": Codex,
	"opencode": "opencode", "geminicli": "gemini-cli",

	"openai-js": "openai-js", "openai-go": "openai-go", "openai-java": "openai-java", "openai-ruby": "openai-ruby",
	"openai-python": "openai-python", "asyncopenai-python": "openai-python",
	"anthropic-js": "anthropic-js", "anthropic-go": "anthropic-go", "anthropic-java": "anthropic-java", "anthropic-ruby": "anthropic-ruby",
	"anthropic-python": "anthropic-python", "asyncanthropic-python": "anthropic-python",
	"ai": "ai-sdk", "ai-sdk": "ai-sdk", "ai-sdk-openai": "ai-sdk", "ai-sdk-anthropic": "ai-sdk",
	"litellm": "litellm", "curl": "curl", "python-requests": "python-requests", "python-httpx": "python-httpx", "node": "node",
	"go-http-client": "go-http-client",

	"mozilla": "", "opera": "", // browsers
}

const (
	maxProgram  = 32 // bytes of a name
	maxPrograms = 200
	others      = "other"
)

// seen are the names of programs that were not known beforehand. Clients may call themselves
// anything: only the first names are used, so that calls can be grouped by them.
type seen struct {
	mu    sync.RWMutex
	names map[string]string
}

// Program is a short name of a program, without its version, from the headers User-Agent and
// Originator; empty for a browser, and for a program that does not say its name in the usual form.
func (s *Service) Program(userAgent, originator string) string {
	var buffer [maxProgram]byte
	if name := lower(buffer[:0], originator); len(name) > 0 && programs[string(name)] == Codex {
		return Codex
	}
	product, rest, versioned := strings.Cut(userAgent, "/")
	token := lower(buffer[:0], product)
	if language, _, _ := strings.Cut(rest, " "); len(token) > 0 && isWord(language) { // as in OpenAI/Python 1.2.3
		token = lower(append(token, '-'), language)
	}
	name, known := programs[string(token)]
	if known || !versioned || len(token) == 0 || strings.Contains(product, " ") {
		return name
	}
	return s.seen.name(token)
}

// name is the token, or that of all others.
func (s *seen) name(token []byte) string {
	s.mu.RLock()
	name, known := s.names[string(token)]
	full := len(s.names) >= maxPrograms
	s.mu.RUnlock()
	if known {
		return name
	}
	if full {
		return others
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]string{}
	}
	if len(s.names) < maxPrograms {
		s.names[string(token)] = string(token)
	}
	return cmp.Or(s.names[string(token)], others)
}

// lower adds a text in lower case; nothing is left if it is too long, or no name of a program.
func lower(to []byte, text string) []byte {
	if len(text) == 0 || len(to)+len(text) > maxProgram {
		return nil
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', strings.IndexByte("._- ", c) >= 0:
		default:
			return nil
		}
		to = append(to, c)
	}
	return to
}

func isWord(text string) bool {
	for i := range len(text) {
		if c := text[i] | ' '; c < 'a' || c > 'z' {
			return false
		}
	}
	return text != ""
}
