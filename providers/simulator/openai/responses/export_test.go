package responses

// The types of answers, for tests.
type (
	Response = response
	Item     = item
	Part     = part
)

// KeptResponses is how many responses are kept.
const KeptResponses = keptResponses
