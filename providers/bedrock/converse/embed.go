package converse

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// cohereTexts are how many texts Cohere takes in one call; Titan takes one.
const cohereTexts = 96

// PrepareEmbeddings turns the input into texts.
func (a *API) PrepareEmbeddings(call providers.Call) (providers.Exchange, error) {
	req, ok := call.Request.Source.(llm.Embedding)
	if !ok {
		return nil, api.Internal(errSource)
	}
	x := &embedding{client: a.client.Telling(tokenHeader), path: address(call.Model, "invoke"), model: call.Model.Upstream, request: req}
	switch {
	case strings.Contains(x.model, "cohere.embed"):
		x.batch = cohereTexts
	case strings.Contains(x.model, "amazon.titan-embed"):
		x.batch = 1
	default:
		return nil, api.Invalid(api.CodeUnsupportedValue, call.Request.Path(llm.FieldModel),
			"the model %s is none of Cohere's and Titan's, whose embeddings are known", api.Quoted(call.Model.ID))
	}
	var err error
	if x.opts, err = req.Options(); err == nil {
		x.texts, err = req.Strings()
	}
	if err != nil {
		return nil, err
	}
	calls := (len(x.texts) + x.batch - 1) / x.batch
	x.vectors, x.tokens = req.Vectors(calls), make([]int64, calls)
	return x, nil
}

// embedding is a request for vectors, which takes a call for each batch of texts. A batch that
// has come is kept: after a failure another attempt asks for the others only.
type embedding struct {
	client      *upstream.Client
	path, model string
	request     llm.Embedding
	opts        llm.EmbeddingOptions
	texts       []string
	batch       int
	vectors     llm.Vectors
	tokens      []int64 // of the texts of each call; 0 = not reported
}

// Properties name the members that the model does not have, and the vocabulary of the client's tokens.
func (x *embedding) Properties() providers.Properties {
	ignored := x.request.Ignored(nil)
	if x.opts.TaskType != "" && x.batch == 1 {
		ignored = append(ignored, "task_type")
	}
	if x.opts.Title != "" {
		ignored = append(ignored, "title")
	}
	return providers.Properties{Ignored: ignored, Decoded: x.request.Vocabulary()}
}

// inputTypes are Cohere's words for the task types of queries; the others are of documents.
var inputTypes = map[string]string{
	"RETRIEVAL_QUERY": "search_query", "QUESTION_ANSWERING": "search_query", "FACT_VERIFICATION": "search_query",
	"CODE_RETRIEVAL_QUERY": "search_query", "CLASSIFICATION": "classification", "CLUSTERING": "clustering",
}

// body is the request of a batch.
func (x *embedding) body(texts []string) ([]byte, error) {
	var body struct {
		Texts      []string `json:"texts,omitempty"`
		Kind       string   `json:"input_type,omitempty"`
		Types      []string `json:"embedding_types,omitempty"`
		Dimension  int64    `json:"output_dimension,omitzero"`
		Text       string   `json:"inputText,omitempty"` // and Dimensions are Titan's
		Dimensions int64    `json:"dimensions,omitzero"`
	}
	if x.batch == 1 {
		body.Text, body.Dimensions = texts[0], x.opts.Dimensions
	} else {
		body.Texts, body.Types, body.Dimension = texts, []string{"float"}, x.opts.Dimensions
		body.Kind = cmp.Or(inputTypes[x.opts.TaskType], "search_document")
	}
	return json.Marshal(&body, api.Lenient)
}

// Open makes all calls. One that fails ends the others.
func (x *embedding) Open(ctx context.Context, key string) (llm.Stream, error) {
	err := upstream.Batches(ctx, len(x.tokens), x.vectors.Has, func(ctx context.Context, i int) error { return x.call(ctx, key, i) })
	if err != nil {
		return nil, err
	}
	return llm.VectorAnswer(x.model, x.vectors, x.tokens), nil
}

// call asks for the vectors of one batch.
func (x *embedding) call(ctx context.Context, key string, i int) error {
	first := i * x.batch
	texts := x.texts[first:min(first+x.batch, len(x.texts))]
	body, err := x.body(texts)
	if err != nil {
		return api.Internal(err)
	}
	text, tokens, err := x.post(ctx, key, body)
	if err != nil {
		return err
	}
	// Numbers, and what is written of them, take no more than twice their text.
	if err := x.request.Room(2 * int64(len(text))); err != nil {
		return err
	}
	var answer struct {
		One    []float64      `json:"embedding"`           // Titan's
		Tokens int64          `json:"inputTextTokenCount"` // Titan's
		Many   jsontext.Value `json:"embeddings"`          // Cohere's: a list, or an object with one of each type
	}
	if err := json.Unmarshal(text, &answer, api.Lenient); err != nil {
		return x.client.Malformed(err)
	}
	vectors := [][]float64{answer.One}
	if many := answer.Many; many.Kind() == jsontext.KindBeginObject {
		answer.Many = jsonbytes.Member(many, "float")
	}
	if len(answer.Many) > 0 {
		vectors = nil
		err = json.Unmarshal(answer.Many, &vectors, api.Lenient)
	}
	if err != nil || len(vectors) != len(texts) {
		return x.client.Malformed(errors.Join(errVectors, err))
	}
	var data []byte
	for j, vector := range vectors {
		if len(vector) == 0 {
			return x.client.Malformed(errVectors)
		}
		if j > 0 {
			data = append(data, ',')
		}
		data = x.vectors.AppendVector(data, first+j, vector)
	}
	x.tokens[i] = max(answer.Tokens, tokens)
	x.vectors.Add(i, data)
	return nil
}

// tokenHeader has the tokens of a call, which Cohere's answer has nowhere else.
const tokenHeader = "X-Amzn-Bedrock-Input-Token-Count"

// post sends a request and returns the tokens that the header of its answer tells; 0 for none.
func (x *embedding) post(ctx context.Context, key string, body []byte) (text []byte, tokens int64, err error) {
	call, outer := upstream.Call{Context: ctx}, upstream.CallOf(ctx)
	if outer != nil {
		call.User, call.Team, call.Accepted = outer.User, outer.Team, outer.Accepted
	}
	text, err = x.client.Post(&call, key, x.path, body) //nolint:contextcheck // it wraps ctx
	if outer != nil {
		outer.RequestID = call.RequestID
	}
	for _, h := range call.Told {
		if n, err := strconv.ParseInt(h.Value, 10, 32); err == nil {
			tokens = n
		}
	}
	return text, tokens, err
}
