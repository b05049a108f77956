package gemini

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// textsPerCall are how many texts Gemini takes in one call.
const textsPerCall = 100

// The methods for embeddings.
const (
	methodBatch   = "batchEmbedContents"
	methodOne     = "embedContent" // at Vertex AI, of the models since Gemini Embedding 2
	methodPredict = "predict"      // at Vertex AI, of the models before
)

// embedding is how a model's vectors are asked for, and how many texts a call takes.
func (p *Provider) embedding(model string) (method string, texts int) {
	const safe = 9 // with 2,048 tokens each, of 20,000 that a call takes
	switch {
	case !p.vertex:
		return methodBatch, textsPerCall
	case model == "gemini-embedding-001":
		return methodPredict, 1
	case strings.HasPrefix(model, "gemini"):
		return methodOne, 1
	}
	return methodPredict, safe
}

var errSource = errors.New("a request for embeddings has the source of another dialect")

// prepareEmbeddings turns the input into texts.
func (p *Provider) prepareEmbeddings(call providers.Call) (providers.Exchange, error) {
	req, ok := call.Request.Source.(llm.Embedding)
	if !ok {
		return nil, api.Internal(errSource)
	}
	opts, err := req.Options()
	if err != nil {
		return nil, err
	}
	texts, err := req.Strings()
	if err != nil {
		return nil, err
	}
	model := modelName(call.Model.Upstream)
	method, perCall := p.embedding(model)
	calls := (len(texts) + perCall - 1) / perCall
	return &embedding{
		client: p.client, model: model, path: p.path(call.Model, method), method: method, perCall: perCall, request: req,
		opts: opts, texts: texts, vectors: req.Vectors(calls), tokens: make([]int64, calls),
	}, nil
}

// embedding is a request for vectors, which takes a call for each batch of texts. A batch
// that has come is kept: after a failure another attempt asks for the others only.
type embedding struct {
	client  *upstream.Client
	model   string
	path    string
	method  string
	perCall int // texts
	request llm.Embedding
	opts    llm.EmbeddingOptions
	texts   []string
	vectors llm.Vectors
	tokens  []int64 // of the texts of each call; 0 = not reported
}

// Properties name the members that Gemini does not have, and the vocabulary of the client's tokens.
func (x *embedding) Properties() providers.Properties {
	return providers.Properties{Ignored: x.request.Ignored(nil), Decoded: x.request.Vocabulary()}
}

// Open makes all calls. One that fails ends the others.
func (x *embedding) Open(ctx context.Context, key string) (llm.Stream, error) {
	err := upstream.Batches(ctx, len(x.tokens), x.vectors.Has, func(ctx context.Context, i int) error { return x.call(ctx, key, i) })
	if err != nil {
		return nil, err
	}
	return llm.VectorAnswer(x.model, x.vectors, x.tokens), nil
}

var errVectors = errors.New("the answer has not one vector for each text")

// call asks for the vectors of one batch.
func (x *embedding) call(ctx context.Context, key string, i int) error {
	first := i * x.perCall
	texts := x.texts[first:min(first+x.perCall, len(x.texts))]
	vectors := &vectorList{next: first, left: len(texts), out: x.vectors, base64: x.opts.Base64, room: x.request.Room}
	answer := batchAnswer{Vectors: vectors, Predicted: vectors, One: vectors}
	var malformed error
	// Not all at once: the answer is longer than what is made of it.
	err := x.client.Read(ctx, key, x.path, func(text io.Reader) { malformed = json.UnmarshalRead(text, &answer, lenient) }, x.body(texts))
	switch {
	case vectors.full != nil:
		return vectors.full
	case err != nil:
		return err
	case malformed != nil:
		return x.client.Malformed(malformed)
	case answer.Error != nil:
		return x.client.Refused(answer.Error.refusal(answer.Error.streamStatus()))
	case vectors.next != first+len(texts):
		return x.client.Malformed(errVectors)
	}
	x.tokens[i] = int64(answer.Usage.Prompt) + vectors.tokens
	x.vectors.Add(i, vectors.data)
	return nil
}

// body is the request of one call.
func (x *embedding) body(texts []string) []byte {
	switch x.method {
	case methodOne:
		return x.one(texts[0])
	case methodPredict:
		return x.predicted(texts)
	}
	return x.batch(texts)
}

// one is the request of Vertex AI for one text.
func (x *embedding) one(text string) []byte {
	w := jsonbytes.Writer(nil).Object().ObjectAt("content").ListAt("parts").Object().Text("text", text).EndObject().EndList().EndObject()
	if x.opts.Dimensions > 0 {
		w = w.Int("outputDimensionality", x.opts.Dimensions)
	}
	return x.described(w, "taskType").EndObject()
}

// described adds what a text is for, under Vertex AI's name of that.
func (x *embedding) described(w jsonbytes.Writer, task string) jsonbytes.Writer {
	if x.opts.TaskType != "" {
		w = w.Text(task, x.opts.TaskType)
	}
	if x.opts.Title != "" {
		w = w.Text("title", x.opts.Title)
	}
	return w
}

// predicted is the request of Vertex AI's older method.
func (x *embedding) predicted(texts []string) []byte {
	w := jsonbytes.Writer(nil).Object().ListAt("instances")
	for _, text := range texts {
		w = x.described(w.Object().Text("content", text), "task_type").EndObject()
	}
	w = w.EndList()
	if x.opts.Dimensions > 0 {
		w = w.ObjectAt("parameters").Int("outputDimensionality", x.opts.Dimensions).EndObject()
	}
	return w.EndObject()
}

// batch is the request of one batch. Each text is a request of its own: one request with
// several parts would be one vector.
func (x *embedding) batch(texts []string) []byte {
	const around = 160 // bytes beside each text
	size := around
	for _, text := range texts {
		size += len(text) + around
	}
	var each object
	if x.opts.Dimensions > 0 {
		each.add("outputDimensionality", strconv.AppendInt(nil, x.opts.Dimensions, 10))
	}
	if x.opts.TaskType != "" {
		each.add("taskType", quote(x.opts.TaskType))
	}
	if x.opts.Title != "" {
		each.add("title", quote(x.opts.Title))
	}
	each.add("model", quote("models/"+x.model))
	before := append([]byte(each), `,"content":{"parts":[{"text":`...)
	out := append(make([]byte, 0, size), `{"requests":[`...)
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonbytes.AppendString(append(out, before...), text)
		out = append(out, `}]}}`...)
	}
	return append(out, `]}`...)
}
