package rig

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
)

// bedrockWire has what anthropicWire says, as Amazon Bedrock sends it: each event in a frame. The
// frames have padding, and the last one has figures of Bedrock's own.
func bedrockWire() *wire {
	w := anthropicWire()
	w.contentType = "application/vnd.amazon.eventstream"
	random := rand.New(rand.NewPCG(11, 12))
	for _, events := range [][][]byte{w.before, w.chunks, w.after} {
		for i := range events {
			events[i] = frame(random, events[i])
		}
	}
	w.finish = frame(random, w.finish)
	return w
}

// frame is the frame of a server-sent event.
func frame(random *rand.Rand, event []byte) []byte {
	_, data, _ := bytes.Cut(event, []byte("data: "))
	data = bytes.TrimSpace(data)
	if bytes.Contains(data, []byte(`"message_stop"`)) {
		data = []byte(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":58,"outputTokenCount":66,"invocationLatency":1207,"firstByteLatency":411}}`)
	}
	var compact bytes.Buffer // Bedrock has no spaces in its events
	if err := json.Compact(&compact, data); err != nil {
		panic(err) // the script is JSON
	}
	var m eventstream.Message
	m.Headers.Set(eventstreamapi.EventTypeHeader, eventstream.StringValue("chunk"))
	m.Headers.Set(eventstreamapi.ContentTypeHeader, eventstream.StringValue("application/json"))
	m.Headers.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(eventstreamapi.EventMessageType))
	const longest = 36 // of the padding
	m.Payload = fmt.Appendf(nil, `{"bytes":"%s","p":"%s"}`, base64.StdEncoding.EncodeToString(compact.Bytes()), padding(random, 1+random.IntN(longest)))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err) // these headers always can be encoded
	}
	return out.Bytes()
}
