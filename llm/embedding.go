package llm

// Embedding is the source of a request for vectors, as a provider reads it that does not
// speak the client's API.
type Embedding interface {
	Source

	// Options and Strings fail with an *api.Error that names the member at fault.
	Options() (EmbeddingOptions, error)
	// Strings are the texts to embed. Tokens that the client sent are decoded with Vocabulary,
	// which is empty where it sent texts.
	Strings() ([]string, error)
	Vocabulary() string

	// Room reserves memory for what the request becomes, beside its body.
	Room(bytes int64) error
	// Vectors is the answer of a provider that is called so many times for it.
	Vectors(calls int) Vectors
}

// EmbeddingOptions are what a request asks of its vectors.
type EmbeddingOptions struct {
	Dimensions int64 // of each vector; 0 = as many as the model has
	Base64     bool  // vectors are written as base64 of little-endian 32-bit floats
	TaskType   string
	Title      string
}

// Vectors writes an answer in the client's form. It may be used on several goroutines.
type Vectors interface {
	// AppendVector adds the vector of text index to those of a call, and scales it in place.
	AppendVector(dst []byte, index int, vector []float64) []byte
	// Add takes over the vectors of a call. Those of all calls may come in any order.
	Add(call int, vectors []byte)
	Has(call int) bool
	// Answer is the answer when the vectors of all calls have come, but for its usage.
	Answer(model string) []byte
}

// VectorAnswer is the answer of vectors, with the tokens that the provider has counted in each
// call: where it has not counted those of all, there is no usage.
func VectorAnswer(model string, vectors Vectors, tokens []int64) Stream {
	usage, reported := new(Usage), true
	for _, n := range tokens {
		usage.Input += n
		reported = reported && n > 0
	}
	if usage.Total = usage.Input; !reported {
		usage = nil
	}
	e := Event{Kind: EventAnswer, Head: &Head{Model: model}, Raw: vectors.Answer(model), Usage: usage}
	return func(yield func(*Event, error) bool) { yield(&e, nil) }
}
