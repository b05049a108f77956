package anthropic

// The types of answers and the list of models, for tests.
type (
	Usage  = usage
	Listed = listed
)

var Catalogue = catalogue
