package api

import (
	"net/url"

	"modelgateway/llm"
)

// Keeping is a Dialect in which a request can go on from an earlier answer that the gateway
// keeps.
type Keeping interface {
	// Refers are the ids of the items of earlier answers that a request has in place of the
	// items.
	Refers(req *llm.Request) []string
	// Turn is what is kept of a request and of its whole answer; ok is false where that is
	// none that can be gone on from.
	Turn(req *llm.Request, answer []byte) (turn llm.Turn, ok bool)
	// TurnRefers are the ids of the references in the input of a turn.
	TurnRefers(turn *llm.Turn) []string
	// Resume is the body of a request with the whole conversation: the earlier turns before
	// its input, and items of the referred turns in the place of references. Its error is an
	// *Error that names a reference without an item.
	Resume(req *llm.Request, earlier, referred []llm.Turn) ([]byte, error)
	// AppendInput adds the page of a turn's input that a query asks for to dst.
	AppendInput(dst []byte, turn *llm.Turn, query url.Values) ([]byte, error)
	// AppendDeleted adds the answer to the erasure of a turn to dst.
	AppendDeleted(dst []byte, id string) []byte
}

// Whole is a StreamWriter that has the whole answer when the stream is done.
type Whole interface {
	// Whole is the JSON of the answer as AppendAnswer writes it; nil where there is none, or
	// where it is not to be kept.
	Whole() []byte
}
