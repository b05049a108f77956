package api

import (
	"net/url"

	"modelgateway/llm"
)

// Keeping is how a request of a dialect goes on from an earlier answer that the gateway keeps.
type Keeping struct {
	// Refers are the ids of the items of earlier answers that a request has in place of the
	// items.
	Refers func(req *llm.Request) []string
	// Turn is what is kept of a request and of its whole answer; ok is false where that is
	// none that can be gone on from.
	Turn func(req *llm.Request, answer []byte) (turn llm.Turn, ok bool)
	// TurnRefers are the ids of the references in the input of a turn.
	TurnRefers func(turn *llm.Turn) []string
	// Resume is the body of a request with the whole conversation: the earlier turns before
	// its input, and items of the referred turns in the place of references. Its error is an
	// *Error that names a reference without an item.
	Resume func(req *llm.Request, earlier, referred []llm.Turn) ([]byte, error)
	// AppendInput adds the page of a turn's input that a query asks for to dst.
	AppendInput func(dst []byte, turn *llm.Turn, query url.Values) ([]byte, error)
	// AppendDeleted adds the answer to the erasure of a turn to dst.
	AppendDeleted func(dst []byte, id string) []byte
}
