package api

import "net/http"

// PreviousNotFound answers a request that goes on from a response which the caller cannot
// go on from. It is the same for a response that is unknown, another caller's or not kept
// any more, so that it tells nothing of those of other callers. advice says what to do.
func PreviousNotFound(advice string) *Error {
	return Invalid(CodePreviousNotFound, "previous_response_id", "Previous response not found: %s", advice)
}

// ResendAll is advice for PreviousNotFound where responses are kept.
const ResendAll = "there is none with this id that this caller and this model can go on from; send the whole conversation as input"

// ResponseNotFound answers for a response that is unknown, another caller's or not kept any
// more, all alike.
func ResponseNotFound() *Error {
	return &Error{
		Status: http.StatusNotFound, Type: TypeInvalidRequest, Code: CodeResponseNotFound, Message: "there is no response with this id",
	}
}

// ThreadNotFound answers a request that goes on in a thread which the caller cannot go on in:
// unknown, another caller's, or kept by a provider that does not serve the model, all alike.
// Clients of Anthropic's API then send the whole conversation.
func ThreadNotFound() *Error {
	return &Error{
		Status: http.StatusNotFound, Type: TypeInvalidRequest, Code: CodeThreadNotFound, Param: "thread.previous_message_id",
		Message: "there is none with this id that this caller and this model can go on from; send the whole conversation as messages",
	}
}

// ThreadUnsupported answers a request of a thread that no provider may keep, and says why.
func ThreadUnsupported(why string) *Error {
	return Invalid(CodeThreadUnsupported, "thread", "%s: send the whole conversation as messages, without thread", why)
}
