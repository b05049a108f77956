package responses

// CodexModel is a model in the form in which Codex lists models. Codex drops a whole list in which
// one model lacks a member that it needs; which these are, its releases decide: tests/agents asks
// the installed one. Those of 0.169.0 are all here, with two of older releases, which do it no harm.
type CodexModel struct {
	Slug             string           `json:"slug"`
	DisplayName      string           `json:"display_name"`
	Description      string           `json:"description"`
	DefaultEffort    string           `json:"default_reasoning_level,omitzero"`
	Efforts          []CodexEffort    `json:"supported_reasoning_levels"`
	ShellType        string           `json:"shell_type"`
	Visibility       string           `json:"visibility"`
	InAPI            bool             `json:"supported_in_api"`
	Priority         int              `json:"priority"` // the lowest is the default model
	BaseInstructions string           `json:"base_instructions"`
	Summaries        bool             `json:"supports_reasoning_summaries"`
	Verbosity        bool             `json:"support_verbosity"`
	Truncation       CodexOutputLimit `json:"truncation_policy"`
	ParallelCalls    bool             `json:"supports_parallel_tool_calls"`
	ContextWindow    int64            `json:"context_window,omitzero"`     // Codex compacts at 90 % of it
	MaxContextWindow int64            `json:"max_context_window,omitzero"` // to which a user may raise it
	Tools            []string         `json:"experimental_supported_tools"`
	Input            []string         `json:"input_modalities"`
}

// CodexEffort is an effort that a user can choose for a model.
type CodexEffort struct {
	Effort      string `json:"effort"`
	Description string `json:"description"`
}

// CodexOutputLimit is how much of the output of a tool Codex shows to a model.
type CodexOutputLimit struct {
	Mode  string `json:"mode"`
	Limit int    `json:"limit"`
}

// CodexPriority comes behind the models of Codex' own list, so that its default stays.
const CodexPriority = 100

// CodexInstructions is what Codex says to a listed model ahead of its rules of the sandbox and the
// user's AGENTS.md. Codex has a prompt for models that are in no list, which is its vendor's.
const CodexInstructions = `You are a coding agent. You work in the user's folder through Codex, which runs your tools and
shows your messages.

- Work until the task is done, then end with a short summary: what you changed, how you checked it. Ask only what you cannot find out.
- Read code before you change it. Keep its style, change only what the task needs, and leave changes that are not yours as they are.
- Search with rg where it is installed. Read and change files with shell commands where no other tool is for that.
- Run the tests and checks of the project where there are any, and say what you could not check.
- Commit, push, delete or discard work only where the user asks for it.
- Before a step that takes long, say in one sentence what you are about to do. Refer to code by path and line.
`
