package promptcache

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// hashes are those of a prompt, of four bytes each: of its tools, of its instructions, and one
// for each message, which covers the messages before it too.
type hashes []byte

const (
	hashBytes    = 4
	mostHashes   = 2048 // further messages are not told apart
	firstMessage = 2    // the hash of the first message
)

// hashes are those of a prompt, of which the first ones are known.
func (s *Service) hashes(p *llm.Prompt, known hashes) hashes {
	messages := p.Messages[:min(len(p.Messages), mostHashes-firstMessage)]
	all := append(make(hashes, 0, hashBytes*(firstMessage+len(messages))), known...)
	var d xxhash.Digest
	add := func(before hashes, part []byte) {
		s.reset(&d)
		_, _ = d.Write(before)
		write(&d, part)
		all = binary.LittleEndian.AppendUint32(all, uint32(d.Sum64()))
	}
	if len(known) == 0 {
		add(nil, p.Tools)
		add(nil, withoutBilling(p.System))
	}
	for i := len(all)/hashBytes - firstMessage; i < len(messages); i++ {
		var before hashes
		if i > 0 {
			before = all[len(all)-hashBytes:]
		}
		add(before, messages[i])
	}
	return all
}

// sizes tell two conversations apart without a hash: of the tools, the instructions and the first message.
func sizes(p *llm.Prompt) [firstMessage + 1]int {
	return [...]int{len(p.Tools), len(withoutBilling(p.System)), len(p.Messages[0])}
}

// confirmed are the hashes of the last prompt that need not be made again for the next one, since the
// provider has read nearly all of it from its cache: but for those of the last bytes, which it may
// have left out.
func (h hashes) confirmed(next *llm.Prompt) hashes {
	n, unsure := min(len(h)/hashBytes-firstMessage, len(next.Messages)), 16*rounding
	for ; n > 0 && unsure > 0; n-- {
		unsure -= len(next.Messages[n-1])
	}
	return h[:(firstMessage+n)*hashBytes]
}

// difference is the first hash of a prompt that another one has not, as far as that goes; -1
// where there is none. other: they have nothing in common, so that they are two conversations.
func (h hashes) difference(next hashes) (at int, other bool) {
	at = -1
	same := func(i int) bool {
		return bytes.Equal(h[i*hashBytes:(i+1)*hashBytes], next[i*hashBytes:(i+1)*hashBytes])
	}
	n := min(len(h), len(next)) / hashBytes
	for i := range n {
		if !same(i) {
			at = i
			break
		}
	}
	return at, at == 0 && n > firstMessage && !same(1) && !same(firstMessage)
}

// write adds a part of a prompt to a digest, in one form where clients write the same prompt in
// several: a message of one text as a list, and without a cache mark at its end, which moves on
// with the conversation.
func write(d *xxhash.Digest, part []byte) {
	part, end := withoutMark(part)
	if head, text, ok := soleText(part); ok {
		_, _ = d.Write(head)
		_, _ = d.WriteString(`[{"type":"text","text":`)
		_, _ = d.Write(text)
		part, end = []byte("}]"), part[len(part)-1:]
	}
	_, _ = d.Write(part)
	if len(end) > 0 {
		_, _ = d.Write(end)
	}
}

// withoutMark are the parts before and after the cache mark of the last block of a message, or of
// the last tool, where it is the last member.
func withoutMark(part []byte) (before, after []byte) {
	const end, most = 4, 160 // bytes
	if !bytes.Contains(part[max(len(part)-end, 0):], []byte("}}")) {
		return part, nil
	}
	from := max(len(part)-most, 0)
	for _, name := range [...]string{`"cache_control"`, `"prompt_cache_breakpoint"`} {
		at := bytes.LastIndex(part[from:], []byte(name))
		if at < 0 {
			continue
		}
		before, after = part[:from+at], part[from+at:]
		before = bytes.TrimSuffix(bytes.TrimRight(before, " \n"), []byte(","))
		return before, after[bytes.IndexByte(after, '}')+1:]
	}
	return part, nil
}

// soleText splits a message whose content, its last member, is a text: before the text, and the
// text up to the end of the message.
func soleText(message []byte) (head, text []byte, ok bool) {
	const most = 64 // bytes
	if !bytes.HasSuffix(message, []byte(`"}`)) {
		return nil, nil, false
	}
	start := message[:min(len(message), most)]
	for _, name := range [...]string{`"content":"`, `"content": "`} {
		if at := bytes.Index(start, []byte(name)); at >= 0 {
			at += len(name) - 1
			return message[:at], message[at : len(message)-1], true
		}
	}
	return nil, nil, false
}

// withoutBilling leaves out the first text of Claude Code's instructions, which changes with
// every call, and which Anthropic leaves out of the prompt.
func withoutBilling(system []byte) []byte {
	const line, most = `"x-anthropic-billing-header:`, 96 // bytes
	at := bytes.Index(system[:min(len(system), most)], []byte(line))
	if at < 0 {
		return system
	}
	rest := system[at+len(line):]
	return rest[bytes.IndexByte(rest, '"')+1:]
}

// promptOf finds the parts of the prompt in the body of a request to a provider.
func promptOf(body []byte) *llm.Prompt {
	var p llm.Prompt
	for name, at := range jsonbytes.MembersAt(body, 0) {
		value := at.Of(body)
		switch string(name) {
		case `"tools"`, `"functions"`:
			p.Tools = value
		case `"system"`, `"instructions"`, `"systemInstruction"`, `"system_instruction"`:
			p.System = value
		case `"messages"`, `"input"`, `"contents"`:
			for message := range jsonbytes.Elements(value) {
				p.Messages = append(p.Messages, message)
			}
		}
	}
	return &p
}
