package responses

import (
	"strconv"

	"modelgateway/dialects/ordering"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// items turns the events of an answer into the items of a response, and writes the events
// of a stream about them. One item is open at a time: what belongs to another one while the
// arguments of a call are incomplete waits until that call has ended.
type items struct {
	request *Request
	stem    string // of the items' ids
	whole   bool   // the answer is no stream: no events are written
	hidden  bool   // the client did not ask for the texts of thoughts
	single  bool   // the answer has one call at most

	out      jsonbytes.Writer // the events that have been written
	sequence int64            // the number of the next event
	output   jsonbytes.Writer // the items that are done, with commas between them
	next     int              // the index of the next item
	kind     itemType
	head     []byte // of the next delta of the open item, up to its value
	text     []byte // of the open part, as the text of a JSON string without its quotes
	held     ordering.Queue

	message message
	thought reasoning
	call    call
	ids     map[string]bool // of the calls
	image   *llm.Media      // that may still get what its provider wants back with it
	summary []byte          // of the conversation, where the answer is one
}

// The types of items that no tool has.
const (
	itemNone       itemType = ""
	itemMessage    itemType = "message"
	itemReasoning  itemType = "reasoning"
	itemImage      itemType = "image_generation_call"
	itemCompaction itemType = "compaction"
)

// prefixes are what the ids of items begin with.
var prefixes = map[itemType]string{
	itemMessage: "msg_", itemReasoning: "rs_", itemImage: "ig_", itemCompaction: "cmp_", functionCall: "fc_", customCall: "ctc_",
	localShellCall: "lsh_", shellCall: "sh_", applyPatchCall: "apc_", toolSearchCall: "tsc_",
}

func newItems(req *llm.Request, stem string) items {
	return items{
		request: requestOf(req), stem: stem, hidden: req.Thinking == nil || req.Thinking.Display != "summarized",
		single: req.SingleCall || req.ParallelCalls != nil && !*req.ParallelCalls,
	}
}

// event takes the next event.
func (it *items) event(e *llm.Event) {
	if it.request.summary {
		if e.Kind == llm.EventText {
			it.summary = append(it.summary, e.Text...)
		}
		return
	}
	it.add(e)
	for !it.held.Empty() && !it.waits() {
		it.add(it.held.Next())
	}
}

// end takes what waits, and closes the last item, which is not whole where the answer is not.
func (it *items) end(answer status) {
	if it.request.summary {
		it.compact()
		return
	}
	for !it.held.Empty() {
		if it.waits() {
			it.close(answer)
		}
		it.add(it.held.Next())
	}
	it.close(answer)
}

// waits says whether the open call lacks a part of its arguments.
func (it *items) waits() bool { return it.call.waits() }

func (it *items) add(e *llm.Event) {
	if it.waits() && (e.Kind != llm.EventInput || e.CallIndex != it.call.index) {
		it.held.Add(e)
		return
	}
	switch e.Kind {
	case llm.EventText, llm.EventRefusal:
		it.writeText(e)
	case llm.EventThought:
		it.writeThought(e)
	case llm.EventMedia:
		it.takeMedia(e.Media)
	case llm.EventCitations:
		it.writeCitations(e.Citations)
	case llm.EventCall:
		it.beginCall(e)
	case llm.EventInput:
		it.writeArguments(e)
	}
}

// open begins an event and says whether one is written.
func (it *items) open(name string) bool {
	if it.whole {
		return false
	}
	it.out = append(append(append(it.out, "event: "...), name...), "\ndata: "...).Object().Text("type", name)
	return true
}

// shut ends an event.
func (it *items) shut() {
	it.out = append(it.out.Int("sequence_number", it.sequence).EndObject(), "\n\n"...)
	it.sequence++
}

// openItem begins an event about the open item, or says that none is written.
func (it *items) openItem(name string) bool {
	if !it.open(name) {
		return false
	}
	it.out = it.out.Text("item_id", it.id()).Int("output_index", int64(it.next-1))
	return true
}

// id is that of the open item. The items of a response have ids that differ in their numbers.
func (it *items) id() string { return prefixes[it.kind] + it.stem + "_" + strconv.Itoa(it.next-1) }

// members adds those of an item beside its id and its type.
type members func(jsonbytes.Writer) jsonbytes.Writer

// start begins an item.
func (it *items) start(kind itemType, rest members) {
	it.kind, it.head, it.text = kind, it.head[:0], it.text[:0]
	it.next++
	if !it.open("response.output_item.added") {
		return
	}
	it.out = it.out.Int("output_index", int64(it.next-1)).JSON("item", it.item(rest))
	it.shut()
}

// item is the JSON of the open item.
func (it *items) item(rest members) []byte {
	return rest(jsonbytes.Writer(nil).Object().Text("id", it.id()).Text("type", string(it.kind))).EndObject()
}

// finish ends the open item.
func (it *items) finish(rest members) {
	item := it.item(rest)
	it.output = append(it.output.Comma(), item...)
	if it.open("response.output_item.done") {
		it.out = it.out.Int("output_index", int64(it.next-1)).JSON("item", item)
		it.shut()
	}
	it.kind = itemNone
}

// close ends the open item, if there is one. answer is the status of an item that is cut.
func (it *items) close(answer status) {
	it.writeImage()
	switch it.kind {
	case itemNone:
	case itemMessage:
		it.closePart()
		it.closeMessage(answer)
	case itemReasoning:
		it.closeThought()
	default:
		it.closeCall(answer)
	}
}

// delta adds to the text of the open part, and writes the event about it. tail follows the
// value.
func (it *items) delta(value, tail string) {
	if it.whole {
		it.text = appendMore(it.text, value)
		return
	}
	at := len(it.out) + len(it.head) + 1
	it.out = jsonbytes.AppendString(append(it.out, it.head...), value)
	it.text = append(it.text, it.out[at:len(it.out)-1]...)
	it.out = append(it.out, tail...)
	it.shut()
}

// heading prepares the deltas of the open part: index is the member that numbers it.
func (it *items) heading(name, index string, n int) {
	if it.whole || len(it.head) > 0 {
		return
	}
	kept := it.out
	it.out = it.head
	it.openItem(name)
	if index != "" {
		it.out = it.out.Int(index, int64(n))
	}
	it.head, it.out = append(it.out, `,"delta":`...), kept
}
