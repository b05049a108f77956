package messages

import "strconv"

// AppendCount adds the answer of /v1/messages/count_tokens.
func (Dialect) AppendCount(dst []byte, tokens int64) []byte {
	dst = append(dst, `{"input_tokens":`...)
	return append(strconv.AppendInt(dst, tokens, 10), '}')
}
