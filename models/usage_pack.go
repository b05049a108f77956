package models

import (
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
)

// packed are the sums of an hour or a day, in a few bytes for each group and minute:
// docs/adr/0111 has the form. totals has the sums of each group, details those of its
// minutes, in the same order.
type packed struct {
	totals, details []byte
}

// The forms of packed sums: that of the former release has neither teams, projects and agents nor the
// amounts of all units. A packed tally begins with bits that say what it has.
const (
	formerForm = 1
	packedForm = 2

	groupTexts, formerTexts   = 7, 4
	sumNumbers, formerNumbers = 18, 10
)

var errPacked = errors.New("the packed sums are damaged")

// minutesOf are the sums of groups by minute.
type minutesOf map[UsageGroup][]minuteTally

// pack packs the sums of the hour or the day that begins at a minute. It sorts them.
func pack(form byte, begin int64, all minutesOf) packed {
	groups := slices.SortedFunc(maps.Keys(all), UsageGroup.compare)
	numbers, texts := map[string]uint64{}, []string{}
	number := func(text string) uint64 {
		n, known := numbers[text]
		if !known {
			n = uint64(len(texts))
			numbers[text], texts = n, append(texts, text)
		}
		return n
	}
	var body, cells []byte
	p := packed{details: []byte{form}}
	for _, g := range groups {
		names := g.texts()
		for _, text := range names[:textsIn(form)] {
			body = binary.AppendUvarint(body, number(*text))
		}
		minutes := all[g]
		sortMinutes(minutes)
		var total Tally
		cells = binary.AppendUvarint(cells[:0], uint64(len(minutes)))
		last := begin
		for i := range minutes {
			cells = binary.AppendUvarint(cells, uint64(minutes[i].minute-last))
			cells = appendTally(cells, form, &minutes[i].Tally)
			last = minutes[i].minute
			total.add(&minutes[i].Tally)
		}
		body = appendTally(body, form, &total)
		p.details = binary.AppendUvarint(p.details, uint64(len(cells)))
		p.details = append(p.details, cells...)
	}
	p.totals = binary.AppendUvarint([]byte{form}, uint64(len(texts)))
	for _, text := range texts {
		p.totals = binary.AppendUvarint(p.totals, uint64(len(text)))
		p.totals = append(p.totals, text...)
	}
	p.totals = binary.AppendUvarint(p.totals, uint64(len(groups)))
	p.totals = append(p.totals, body...)
	return p
}

// textsIn is how many texts a group has in a form.
func textsIn(form byte) int {
	if form == formerForm {
		return formerTexts
	}
	return groupTexts
}

// The bits of the parts that a packed tally has: of the numbers of the former release, then these.
const (
	hasFirstToken = 1 << (formerNumbers + iota)
	hasDuration
	hasErrors
	hasOthers // a byte of bits, and the numbers that the former release has not
)

func appendTally(b []byte, form byte, t *Tally) []byte {
	at := len(b)
	b = append(b, 0, 0)
	numbers := t.numbers()
	has, b := appendNumbers(b, numbers[:formerNumbers])
	if len(t.FirstToken) > 0 {
		has |= hasFirstToken
		b = appendTimes(b, t.FirstToken)
	}
	if len(t.Duration) > 0 {
		has |= hasDuration
		b = appendTimes(b, t.Duration)
	}
	if t.Errors != (Errors{}) {
		has |= hasErrors
		for _, n := range t.Errors {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	if form != formerForm {
		var others uint16
		bits := len(b)
		others, b = appendNumbers(append(b, 0), numbers[formerNumbers:])
		if b[bits] = byte(others); others == 0 {
			b = b[:bits]
		} else {
			has |= hasOthers
		}
	}
	binary.LittleEndian.PutUint16(b[at:], has)
	return b
}

// appendNumbers appends those numbers that are not 0: has are their bits.
func appendNumbers(b []byte, numbers []*int64) (has uint16, all []byte) {
	for i, n := range numbers {
		if *n != 0 {
			has |= 1 << i
			b = binary.AppendUvarint(b, uint64(*n))
		}
	}
	return has, b
}

func appendTimes(b []byte, times Times) []byte {
	b = binary.AppendUvarint(b, uint64(len(times)))
	for _, t := range times {
		b = append(b, t.Bucket)
		b = binary.AppendUvarint(b, uint64(t.Calls))
	}
	return b
}

// unpacker reads packed sums. After the first error it reads nothing but zeros.
type unpacker struct {
	data []byte
	at   int
	bad  bool
}

func (u *unpacker) fail() { u.at, u.bad = len(u.data), true }

func (u *unpacker) byte() byte {
	if u.at >= len(u.data) {
		u.fail()
		return 0
	}
	u.at++
	return u.data[u.at-1]
}

func (u *unpacker) number() uint64 {
	if u.at < len(u.data) && u.data[u.at] < 1<<7 { // most are short
		u.at++
		return uint64(u.data[u.at-1])
	}
	return u.longNumber()
}

func (u *unpacker) longNumber() uint64 {
	n, size := binary.Uvarint(u.data[u.at:])
	if size <= 0 {
		u.fail()
		return 0
	}
	u.at += size
	return n
}

// count reads a number of things that follow, each of a byte at least.
func (u *unpacker) count() int {
	n := u.number()
	if n > uint64(len(u.data)-u.at) {
		u.fail()
		return 0
	}
	return int(n)
}

func (u *unpacker) take(n int) []byte {
	u.at += n
	return u.data[u.at-n : u.at]
}

// tally reads into the memory of t.
func (u *unpacker) tally(t *Tally) {
	has := uint16(u.byte())
	has |= uint16(u.byte()) << 8
	t.Sum = Sum{}
	numbers := t.numbers()
	u.numbers(has, numbers[:formerNumbers])
	t.FirstToken, t.Duration = t.FirstToken[:0], t.Duration[:0]
	if has&hasFirstToken != 0 {
		t.FirstToken = u.times(t.FirstToken)
	}
	if has&hasDuration != 0 {
		t.Duration = u.times(t.Duration)
	}
	t.Errors = Errors{}
	if has&hasErrors != 0 {
		for kind := range t.Errors {
			t.Errors[kind] = int64(u.number())
		}
	}
	if has&hasOthers != 0 {
		u.numbers(uint16(u.byte()), numbers[formerNumbers:])
	}
}

func (u *unpacker) numbers(has uint16, into []*int64) {
	for i, n := range into {
		if has&(1<<i) != 0 {
			*n = int64(u.number())
		}
	}
}

func (u *unpacker) times(into Times) Times {
	for range u.count() {
		into = append(into, TimeCount{u.byte() % timeBuckets, uint32(u.number())})
	}
	return into
}

// texts reads the table of texts.
func (u *unpacker) texts() []string {
	all := make([]string, u.count())
	for i := range all {
		all[i] = string(u.take(u.count()))
	}
	return all
}

// unpacked is a tally of packed sums. It is used again for the next one.
type unpacked struct {
	group  UsageGroup
	minute int64 // in which it begins, since the beginning of the packed sums
	tally  Tally
}

// each are the sums of the groups that are wanted: of each minute where details are
// there, else of the whole. A damaged row ends it with an error.
func (p packed) each(wanted func(UsageGroup) bool) iter.Seq2[*unpacked, error] {
	return func(yield func(*unpacked, error) bool) {
		totals, details := unpacker{data: p.totals}, unpacker{data: p.details}
		form := totals.byte()
		if form != formerForm && form != packedForm || len(p.details) > 0 && details.byte() != form {
			yield(nil, errPacked)
			return
		}
		texts := totals.texts()
		text := func() string {
			n := totals.number()
			if n >= uint64(len(texts)) {
				totals.fail()
				return ""
			}
			return texts[n]
		}
		var one unpacked
		for range totals.count() {
			one.group = UsageGroup{}
			names := one.group.texts()
			for _, into := range names[:textsIn(form)] {
				*into = text()
			}
			one.minute = 0
			totals.tally(&one.tally)
			var cells unpacker
			if len(p.details) > 0 {
				cells.data = details.take(details.count())
			}
			if totals.bad || details.bad {
				break
			}
			if !wanted(one.group) {
				continue
			}
			if len(p.details) == 0 {
				if !yield(&one, nil) {
					return
				}
				continue
			}
			for range cells.count() {
				one.minute += int64(cells.number())
				cells.tally(&one.tally)
				if cells.bad {
					yield(nil, errPacked)
					return
				}
				if !yield(&one, nil) {
					return
				}
			}
		}
		if totals.bad || details.bad {
			yield(nil, errPacked)
		}
	}
}
