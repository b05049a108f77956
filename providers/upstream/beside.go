package upstream

import (
	"net/http"

	"modelgateway/llm"
	"modelgateway/providers"
)

// headerLine is a line of a header. All requests of a client share values, which is never
// changed.
type headerLine struct {
	name   string
	values []string
}

// With returns a client with the same connections whose requests have these headers, and
// whose refusals are decoded by refused, where that is not nil. Options.Headers replace
// headers of the same name.
func (c *Client) With(headers []llm.Header, refused func(status int, body []byte) providers.Refusal) *Client {
	other := *c
	other.beside = make([]headerLine, len(headers))
	values := make([]string, len(headers))
	for i, h := range headers {
		values[i] = h.Value
		other.beside[i] = headerLine{h.Name, values[i : i+1 : i+1]}
	}
	if refused != nil {
		other.opts.Refused = refused
	}
	return &other
}

// Telling returns a client with the same connections that hands on these headers of each
// answer, in Call.Told: a client that speaks the upstream's API reads them. The names are in
// canonical form.
func (c *Client) Telling(names ...string) *Client {
	other := *c
	other.telling = names
	return &other
}

// forwardedHeaders are the headers of an answer that are handed on.
func (c *Client) forwardedHeaders(h http.Header) (all []llm.Header) {
	const longest = 8 << 10 // of a value, in bytes
	for _, name := range c.telling {
		if values := h[name]; len(values) > 0 && values[0] != "" && len(values[0]) <= longest {
			all = append(all, llm.Header{Name: name, Value: values[0]})
		}
	}
	return all
}
