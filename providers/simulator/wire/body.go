package wire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
)

// MaxBody bounds the bytes of a request. It is above the 32 MB of Anthropic, the
// lowest limit of the three providers.
const MaxBody = 40 << 20

// ErrTooLarge is the error for a body of more than MaxBody, ErrNotObject for
// one that is not a JSON object.
var (
	ErrTooLarge  = errors.New("request body is too large")
	ErrNotObject = errors.New("request body is not a JSON object")
)

// ReadObject reads the body of a request.
func ReadObject(w http.ResponseWriter, r *http.Request) (jsontext.Value, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	raw := jsontext.Value(body)
	if !raw.IsValid() || raw.Kind() != '{' {
		return nil, ErrNotObject
	}
	return raw, nil
}

// QueryNumber reads a positive number of the query, else returns otherwise.
func QueryNumber(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// NewID returns a unique id of the length that the providers give.
func NewID(prefix string) string { return prefix + rand.Text()[:24] }

// Failure is an error answer. Its header goes over what is already set.
type Failure struct {
	Status int
	Header map[string]string
	Body   any
}

// Handler serves requests. It returns an error answer, or has sent another one.
type Handler func(w http.ResponseWriter, r *http.Request) *Failure

// ServeHTTP sends the error answer, if there is one.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := h(w, r)
	if f == nil {
		return
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	WriteJSON(w, f.Status, f.Body)
}

// WriteJSON sends a whole answer, as application/json unless another type is set.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(rawjson.Encode(body)) // it fails only when the client has disconnected
}
