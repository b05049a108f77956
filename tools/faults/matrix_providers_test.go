package faults

// providerFaults are the expected effects of the faults of one provider, while
// the two others work, without fallbacks.
var providerFaults = map[faultAt]expectation{
	{Slow, atStart}: {
		reason: "slow is not down: a gateway that never knew the provider faster serves every answer and stream of it whole",
		needs:  served, longest: 5 * second, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, idle}: {
		reason: "slow is not down: calls after the change take longer and are served whole",
		needs:  served, longest: 5 * second, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, underWay}: {
		reason: "slow is not down: streams that were running when it came lose nothing, new calls are served whole",
		needs:  served, longest: 5 * second, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, atStart}: {
		reason: "the gateway starts without the provider and says 502 for it, or 503 once its circuit is open; the others are served",
		needs:  failed, longest: afterTries, otherLongest: apart,
		says: weak, whole: degraded, within: 5 * second, back: recovered, rested: circuit,
	},
	{Refuse, idle}: {
		reason: "kept connections are closed and new ones refused: 502 after at most three tries, and the provider is named in health",
		needs:  failed, longest: afterTries, otherLongest: apart,
		says: weak, whole: degraded, within: 5 * second, back: recovered, rested: circuit,
	},
	{Refuse, underWay}: {
		reason: "running streams are cut with an error event, answers are 502 until the circuit opens and 503 then; the others notice nothing",
		needs:  failed, cut: true, longest: afterTries, otherLongest: apart,
		says: down, whole: degraded, within: 20 * second, back: recovered, rested: circuit,
	},
	{Freeze, atStart}: {
		reason: "connections are accepted and nothing comes: 504 after the time-out of its one try, and no call hangs",
		needs:  late, longest: afterTimeOuts, otherLongest: apart,
		says: weak, whole: degraded, within: 12 * second, back: recovered, rested: circuit,
	},
	{Freeze, idle}: {
		reason: "kept connections are silent: nothing says so but the time-out, and then it is 504",
		needs:  late, longest: afterTimeOuts, otherLongest: apart,
		says: weak, whole: degraded, within: 12 * second, back: recovered, rested: circuit,
	},
	{Freeze, underWay}: {
		reason: "running streams end with an error event when the idle time is over, answers with 504; none waits for longer",
		needs:  late, cut: true, longest: afterTimeOuts, otherLongest: apart,
		says: weak, whole: degraded, within: 12 * second, back: recovered, rested: circuit,
	},
	{Reset, atStart}: {
		reason: "every request is answered with a reset: 502 as long as it lasts, and the gateway is up for the others",
		needs:  failed, longest: afterTries, otherLongest: apart,
		says: weak, whole: degraded, within: 5 * second, back: recovered, rested: circuit,
	},
	{Reset, idle}: {
		reason: "kept connections turn out to be reset and new ones are too: 502 within the tries, nothing reaches the client as it came",
		needs:  failed, longest: afterTries, otherLongest: apart,
		says: weak, whole: degraded, within: 5 * second, back: recovered, rested: circuit,
	},
	{Reset, underWay}: {
		reason: "running streams get an error event and no end mark, new calls 502, the other providers' streams go on",
		needs:  failed, cut: true, longest: afterTries, otherLongest: apart,
		says: weak, whole: degraded, within: 5 * second, back: recovered, rested: circuit,
	},
	{Truncate, atStart}: {
		reason: "an answer that was cut is 502 and one that fitted before the cut is whole: nothing in between, however orderly the end",
		needs:  either, cut: true, longest: afterTries, otherLongest: apart, back: recovered, rested: circuit,
	},
	{Truncate, idle}: {
		reason: "streams cut at any byte end with an error event, answers are whole or 502; a connection's end is not an answer's",
		needs:  either, cut: true, longest: afterTries, otherLongest: apart, back: recovered, rested: circuit,
	},
	{Truncate, underWay}: {
		reason: "streams that ran are cut somewhere and say so; none is closed with an end mark that did not come",
		needs:  either, cut: true, longest: afterTries, otherLongest: apart, back: recovered, rested: circuit,
	},
	{Garble, atStart}: {
		reason: "nonsense is 502, a length that is too long is 504, and what is passed on is JSON: another text at worst",
		needs:  anyStatus, cut: true, garbled: true, longest: afterTimeOuts, otherLongest: apart, back: recovered, rested: circuit,
	},
	{Garble, idle}: {
		reason: "nothing panics or hangs over garbled headers, chunks and events; even a garbled status is never the caller's 401",
		needs:  anyStatus, cut: true, garbled: true, longest: afterTimeOuts, otherLongest: apart, back: recovered, rested: circuit,
	},
	{Garble, underWay}: {
		reason: "running streams go on as valid events or end with an error event, and the connections of the others stay clean",
		needs:  anyStatus, cut: true, garbled: true, longest: afterTimeOuts, otherLongest: apart, back: recovered, rested: circuit,
	},
}
