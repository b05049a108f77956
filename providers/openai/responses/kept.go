package responses

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers"
)

// Kept asks about a response with the key that made it. In the answer stands what the client
// knows the response and the one before it by.
func (a *API) Kept(ctx context.Context, ask providers.KeptAsk, key string) ([]byte, error) {
	client := a.client.With(nil, refusedNatively)
	path := "/v1/responses/" + url.PathEscape(ask.ID) + ask.Part
	if ask.Query != "" {
		path += "?" + ask.Query
	}
	var text []byte
	var err error
	switch ask.Method {
	case http.MethodGet:
		text, err = client.Get(ctx, key, path)
	case http.MethodDelete:
		text, err = client.Delete(ctx, key, path)
	default:
		text, err = client.Post(ctx, key, path)
	}
	var names renames
	names.add(ask.ID, ask.Name(ask.ID))
	if err != nil {
		return nil, names.inError(err)
	}
	if !jsonbytes.IsObject(text) {
		return nil, client.Malformed(errNotResponse)
	}
	if previous := jsonbytes.Text(jsonbytes.Member(text, "previous_response_id")); previous != "" && previous != ask.ID {
		names.add(previous, ask.Name(previous))
	}
	return names.in(text), nil
}

// inError is an error of the upstream with the replacements.
func (r *renames) inError(err error) error {
	refusal, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.count == 0 {
		return err
	}
	renamed := *refusal // it may be shared
	renamed.Body = slices.Clone(r.in(refusal.Body))
	renamed.Message = string(r.in([]byte(refusal.Message)))
	return &renamed
}
