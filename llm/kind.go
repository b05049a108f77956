package llm

// Kind is what a model is for, and what a request asks of a model.
type Kind string

// The kinds of models.
const (
	KindChat      Kind = "chat"
	KindEmbedding Kind = "embedding"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{KindChat, KindEmbedding} }

// kinds is what follows from a kind.
var kinds = map[Kind]struct {
	purpose         string
	writes          bool
	interchangeable bool
}{
	KindChat:      {purpose: "chat completions", writes: true, interchangeable: true},
	KindEmbedding: {purpose: "embeddings"},
}

// Purpose is what the models of the kind are for, in the words of messages.
func (k Kind) Purpose() string { return kinds[k].purpose }

// Writes says whether an answer has output tokens. A vector has none.
func (k Kind) Writes() bool { return kinds[k].writes }

// Interchangeable says whether a second call may answer in place of the first, also
// of another model. Vectors of two models cannot be compared.
func (k Kind) Interchangeable() bool { return kinds[k].interchangeable }
