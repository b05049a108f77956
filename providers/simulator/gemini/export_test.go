package gemini

// The types of answers and the list of models, for tests.
type (
	Usage    = usage
	Logprobs = logprobs
	Listed   = listed
	Counted  = counted
)

var Catalogue = catalogue
