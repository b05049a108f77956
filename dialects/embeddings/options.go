package embeddings

import (
	"slices"
	"strconv"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
)

// documents is the only task type with titles.
const documents = "RETRIEVAL_DOCUMENT"

// taskTypes are Gemini's (the reference of the API, 2026-11).
var taskTypes = []string{
	"RETRIEVAL_QUERY", documents, "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING", "QUESTION_ANSWERING",
	"FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY",
}

// Options reads and checks the options.
func (r *Request) Options() (o llm.EmbeddingOptions, err error) {
	if value := r.members[memberDimensions]; llm.Given(value) {
		n, err := strconv.ParseInt(string(value), 10, 32)
		if err != nil || n < 1 {
			return o, api.Invalid(api.CodeInvalidValue, "dimensions", "dimensions must be an integer of at least 1")
		}
		o.Dimensions = n
	}
	format, err := r.text(memberFormat)
	if err != nil {
		return o, err
	}
	if o.TaskType, err = r.text(memberTask); err != nil {
		return o, err
	}
	if o.Title, err = r.text(memberTitle); err != nil {
		return o, err
	}
	switch o.Base64 = format == "base64"; {
	case !slices.Contains([]string{"", "float", "base64"}, format):
		return o, wrongInput("encoding_format", "float or base64")
	case o.TaskType != "" && !slices.Contains(taskTypes, o.TaskType):
		return o, wrongInput(taskType, "one of "+strings.Join(taskTypes, ", "))
	case o.Title != "" && o.TaskType != documents:
		return o, api.Invalid(api.CodeInvalidValue, title, "title needs the task_type %s", documents)
	}
	return o, nil
}
