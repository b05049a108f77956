package llm

// Vocabulary is the kind of tokens that a model has.
type Vocabulary int

// The vocabularies.
const (
	TokensCommon Vocabulary = iota // estimated by OpenAI's, as those of no other vendor are published
	TokensOpenAI                   // with tools as OpenAI shows them to its models
	TokensClaude                   // more tokens for the same text
)
