package responses

import (
	"strconv"

	"modelgateway/dialects/sequence"
	"modelgateway/internal/scan"
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

	out      []byte // the events that have been written
	sequence int64  // the number of the next event
	output   []byte // the JSON of the items that are done, with commas between them
	next     int    // the index of the next item
	kind     itemType
	head     []byte // of the next delta of the open item, up to its value
	text     []byte // of the open part, as the text of a JSON string without its quotes
	held     sequence.Queue

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
		it.say(e)
	case llm.EventThought:
		it.think(e)
	case llm.EventMedia:
		it.made(e.Media)
	case llm.EventCitations:
		it.cite(e.Citations)
	case llm.EventCall:
		it.begin(e)
	case llm.EventInput:
		it.argue(e)
	}
}

// open begins an event and says whether one is written.
func (it *items) open(name string) bool {
	if it.whole {
		return false
	}
	it.out = append(append(append(it.out, "event: "...), name...), "\ndata: {\"type\":\""...)
	it.out = append(append(it.out, name...), '"')
	return true
}

// shut ends an event.
func (it *items) shut() {
	it.out = strconv.AppendInt(append(it.out, `,"sequence_number":`...), it.sequence, 10)
	it.out = append(it.out, "}\n\n"...)
	it.sequence++
}

// openItem begins an event about the open item, or says that none is written.
func (it *items) openItem(name string) bool {
	if !it.open(name) {
		return false
	}
	it.out = it.appendID(append(it.out, `,"item_id":"`...))
	it.out = strconv.AppendInt(append(it.out, `","output_index":`...), int64(it.next-1), 10)
	return true
}

// appendID writes the id of the open item. The items of a response have ids that differ in
// their numbers.
func (it *items) appendID(dst []byte) []byte {
	dst = append(append(append(dst, prefixes[it.kind]...), it.stem...), '_')
	return strconv.AppendInt(dst, int64(it.next-1), 10)
}

// start begins an item. Its JSON is its type and id, and what rest adds.
func (it *items) start(kind itemType, rest func([]byte) []byte) {
	it.kind, it.head, it.text = kind, it.head[:0], it.text[:0]
	it.next++
	if !it.open("response.output_item.added") {
		return
	}
	it.out = strconv.AppendInt(append(it.out, `,"output_index":`...), int64(it.next-1), 10)
	it.out = append(rest(it.appendItem(append(it.out, `,"item":`...))), '}')
	it.shut()
}

// appendItem writes the beginning of an item.
func (it *items) appendItem(dst []byte) []byte {
	dst = append(it.appendID(append(dst, `{"id":"`...)), `","type":"`...)
	return append(append(dst, it.kind...), '"')
}

// finish ends the open item. Its JSON is its type and id, and what rest adds.
func (it *items) finish(rest func([]byte) []byte) {
	if len(it.output) > 0 {
		it.output = append(it.output, ',')
	}
	from := len(it.output)
	it.output = append(rest(it.appendItem(it.output)), '}')
	if it.open("response.output_item.done") {
		it.out = strconv.AppendInt(append(it.out, `,"output_index":`...), int64(it.next-1), 10)
		it.out = append(append(it.out, `,"item":`...), it.output[from:]...)
		it.shut()
	}
	it.kind = itemNone
}

// close ends the open item, if there is one. answer is the status of an item that is cut.
func (it *items) close(answer status) {
	it.draw()
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
	it.out = scan.AppendString(append(it.out, it.head...), value)
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
		it.out = strconv.AppendInt(append(append(append(it.out, `,"`...), index...), `":`...), int64(n), 10)
	}
	it.head, it.out = append(it.out, `,"delta":`...), kept
}
