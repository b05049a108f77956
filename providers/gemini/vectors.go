package gemini

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// batchAnswer is the answer of batchEmbedContents, or of a method of Vertex AI. Its lists are one.
type batchAnswer struct {
	Vectors   *vectorList `json:"embeddings"`
	Predicted *vectorList `json:"predictions"` // of predict
	One       *vectorList `json:"embedding"`   // of embedContent: a vector, no list
	Usage     struct {
		Prompt count `json:"promptTokenCount"` // gemini-embedding-001 does not report it (2026-11)
	} `json:"usageMetadata"`
	Error *problem `json:"error"`
}

// vectorList writes vectors in the client's form while they are read: none is kept.
type vectorList struct {
	data   []byte
	next   int // index of the next vector among all of the request
	left   int // texts of the batch without a vector
	out    llm.Vectors
	base64 bool
	tokens int64 // of the texts, as Vertex AI counts them beside each vector
	room   func(bytes int64) error
	full   error // of room
}

// UnmarshalJSONFrom reads the list.
func (l *vectorList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var v vector
	switch dec.PeekKind() {
	case jsontext.KindBeginObject:
		return l.read(dec, &v)
	case jsontext.KindBeginArray:
	default:
		return errVectors
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndArray {
		if err := l.read(dec, &v); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// vector is one of a list. Predictions have it one level deeper, with its tokens.
type vector struct {
	Values numbers `json:"values"`

	Prediction struct {
		Values     numbers `json:"values"`
		Statistics struct {
			Tokens count `json:"token_count"`
		} `json:"statistics"`
	} `json:"embeddings"`
}

// read reads a vector into the memory of the last one.
func (l *vectorList) read(dec *jsontext.Decoder, v *vector) error {
	v.Values, v.Prediction.Values, v.Prediction.Statistics.Tokens = v.Values[:0], v.Prediction.Values[:0], 0
	if err := json.UnmarshalDecode(dec, v); err != nil {
		return err
	}
	values := v.Values
	if len(values) == 0 {
		values = v.Prediction.Values
	}
	if len(values) == 0 {
		return errVectors
	}
	l.tokens += int64(v.Prediction.Statistics.Tokens)
	if l.full = l.grow(len(values)); l.full != nil {
		return l.full
	}
	if len(l.data) > 0 {
		l.data = append(l.data, ',')
	}
	l.data = l.out.AppendVector(l.data, l.next, values)
	l.next++
	return nil
}

// grow makes room for the next vector: at the first one for all, as far as that is known.
func (l *vectorList) grow(dimensions int) error {
	const asText, around = 13, 64 // bytes of most numbers that are written as text, and beside a vector
	size := dimensions*asText + around
	if l.base64 {
		size = (dimensions*4+2)/3*4 + around
	}
	if l.left--; cap(l.data)-len(l.data) >= 2*size && l.data != nil { // a number can take twice as many
		return nil
	}
	more := max(size*(max(l.left, 0)+2), cap(l.data)/8)
	if err := l.room(int64(more)); err != nil {
		return err
	}
	l.data = append(make([]byte, 0, len(l.data)+more), l.data...)
	return nil
}

// numbers is the values of a vector.
type numbers []float64

var errNumber = errors.New("a vector holds something else than numbers")

// UnmarshalJSONFrom reads a list of numbers. Its memory is used again.
func (n *numbers) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != jsontext.KindBeginArray {
		return errNumber
	}
	list := bytes.TrimSpace(value[1 : len(value)-1])
	for len(list) > 0 {
		one, rest, _ := bytes.Cut(list, []byte(","))
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(one)), 64)
		if err != nil {
			return errNumber
		}
		*n, list = append(*n, x), rest
	}
	return nil
}
