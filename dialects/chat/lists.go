package chat

import (
	"errors"

	"modelgateway/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The most elements that the lists of a request may have. An element of two
// bytes takes hundreds in memory, so elements are counted while they are read.
const (
	maxMessages = 10_000
	maxParts    = 1_000 // also images and reasoning details of one message
	maxTools    = 1_024 // also functions, the calls of one message, and the tools of a tool_choice
	maxStop     = 4
	maxMetadata = 16
)

// boundedLists decodes the lists of a request element by element, so that the
// first element too many, and the first message that is not valid, end the
// decoding.
var boundedLists = json.WithUnmarshalers(json.JoinUnmarshalers(
	list(maxMessages, (*Message).validate),
	list[ContentPart](maxParts, nil),
	list[Image](maxParts, nil),
	list[ReasoningDetail](maxParts, nil),
	list[Tool](maxTools, nil),
	list[Function](maxTools, nil),
	list[ToolCall](maxTools, nil),
	list[allowedTool](maxTools, nil),
	list[string](maxStop, nil), // also modalities
	json.UnmarshalFromFunc(boundedMetadata),
))

// list decodes an array of at most limit elements. validate, where it is not
// nil, is called for each element with its path.
func list[T any](limit int, validate func(element *T, at string) error) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, into *[]T) error {
		if dec.PeekKind() != jsontext.KindBeginArray {
			return errors.ErrUnsupported // null, or a type error, whose message package json makes
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		all := []T{}
		for dec.PeekKind() != jsontext.KindEndArray {
			if len(all) == limit {
				return api.TooMany(api.FieldPath(dec.StackPointer().Parent()), limit)
			}
			all = append(all, *new(T))
			element := &all[len(all)-1]
			if err := json.UnmarshalDecode(dec, element); err != nil {
				return err
			}
			if validate != nil && validate(element, "") != nil {
				return validate(element, api.FieldPath(dec.StackPointer())) // the path is made only for the error, since it allocates
			}
		}
		*into = all
		_, err := dec.ReadToken()
		return err
	})
}

// boundedMetadata decodes an object of at most maxMetadata strings.
func boundedMetadata(dec *jsontext.Decoder, into *map[string]string) error {
	if dec.PeekKind() != jsontext.KindBeginObject {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	all := map[string]string{}
	for dec.PeekKind() != jsontext.KindEndObject {
		if len(all) == maxMetadata {
			return api.TooMany(api.FieldPath(dec.StackPointer().Parent()), maxMetadata)
		}
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String() // the token is invalid after the next read
		var value string
		if err := json.UnmarshalDecode(dec, &value); err != nil {
			return err
		}
		all[key] = value
	}
	*into = all
	_, err := dec.ReadToken()
	return err
}
