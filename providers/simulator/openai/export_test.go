package openai

// The types of answers, for tests.
type (
	Answer      = answer
	Text        = message
	AnswerUsage = usage
	Choice      = choice
	Chunk       = chunk
	ChunkChoice = chunkChoice
	Fault       = fault
)
