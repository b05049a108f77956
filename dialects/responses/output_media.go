package responses

import (
	"strings"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// made takes what the model made. An image is written after the next event, which may hold
// what its provider wants back before it. Other media have no form in this API.
func (it *items) made(m *llm.Media) {
	if _, inline := imageData(m); inline {
		it.close(completed)
		image := *m
		it.image = &image
		return
	}
	it.part(textPart, ownBlock)
	it.delta(m.AsText(), noLogprobs)
	it.closePart()
}

// ownBlock is a block that no event has.
const ownBlock = -1

// imageData is the base64 of an image.
func imageData(m *llm.Media) (data string, ok bool) {
	if m.Kind != llm.Image || !strings.HasPrefix(m.URL, "data:") {
		return "", false
	}
	_, data, ok = strings.Cut(m.URL, ";base64,")
	return data, ok
}

// draw writes the image that the model made.
func (it *items) draw() {
	m := it.image
	if m == nil {
		return
	}
	it.image = nil
	data, _ := imageData(m)
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.URL, "data:image/"), ";")
	if strings.ContainsAny(kind, ":,/") || kind == "" {
		kind = "png"
	}
	it.start(itemImage, func(dst []byte) []byte { return append(dst, `,"status":"in_progress","result":null`...) })
	it.finish(func(dst []byte) []byte {
		dst = scan.AppendString(append(dst, `,"status":"completed","output_format":`...), kind)
		return scan.AppendString(append(dst, `,"result":`...), data)
	})
}
