package faults

// postgresFaults are the expected effects of the faults of PostgreSQL, with one
// gateway that requires credentials, and needs it, and one that does not.
var postgresFaults = map[faultAt]expectation{
	{Slow, atStart}: {
		reason: "a slow database delays the start and the first calls; keys, tokens and logins are good",
		needs:  served, accounts: served, longest: afterQuery, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, idle}: {
		reason: "a slow database is queried in the background: known callers do not wait, logins do, and no request is refused",
		needs:  served, accounts: served, longest: afterQuery, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, underWay}: {
		reason: "known callers go on as before while each query takes a tenth of a second",
		needs:  served, accounts: served, longest: afterQuery, otherLongest: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, atStart}: {
		reason: "the gateway waits for its database with /health at 503 and serves what needs none; a good key is 503, never 401",
		needs:  without, accounts: without, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, idle}: {
		reason: "a second later known keys and tokens are 503 like logins and lists; open mode is served as if nothing were",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, underWay}: {
		reason: "streams that have begun go on to their end; who comes is known for a second and then refused with 503",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, atStart}: {
		reason: "a database that accepts and is silent does not keep the gateway from listening and saying so",
		needs:  without, accounts: without, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, idle}: {
		reason: "every query ends at its own deadline: 503 within two and a half seconds, with no deadline of the network's",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, underWay}: {
		reason: "the pool fills with silent connections and no request waits for it: keys are known for a second, then 503; streams go on",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, atStart}: {
		reason: "each try at the schema is reset and another follows: 503 for who needs the database, no exit and no 401",
		needs:  without, accounts: without, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, idle}: {
		reason: "all pooled connections are dead at once and new ones fail too: 503 without delay once no key is cached",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, underWay}: {
		reason: "questions under way are lost with their connections: the callers are served while known and then get 503",
		needs:  without, accounts: without, known: second, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Truncate, atStart}: {
		reason: "connections that break off after some bytes let a query through now and then: right answers or 503",
		needs:  perhaps, accounts: perhaps, longest: afterQuery, otherLongest: apart, back: recovered, rested: recovered,
	},
	{Truncate, idle}: {
		reason: "a cut row is not accepted: 503 instead of an unknown key; each 200 has the right content",
		needs:  perhaps, accounts: perhaps, known: second, longest: afterQuery, otherLongest: apart, back: recovered, rested: recovered,
	},
	{Truncate, underWay}: {
		reason: "keys stay known as long as any query gets through, and are 503 when none does; streams go on",
		needs:  perhaps, accounts: perhaps, known: second, longest: afterQuery, otherLongest: apart, back: recovered, rested: recovered,
	},
	{Garble, atStart}: {
		reason: "no login works with a garbled server, which counts as unavailable: 503 and no answer from garbage",
		needs:  without, accounts: without, longest: afterQuery, otherLongest: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: afterTry, rested: afterTry,
	},
	{Garble, idle}: {
		reason: "pooled connections speak nonsense until they are used up: served while known, then 503, and nothing panics or hangs",
		needs:  rewritten, accounts: rewritten, known: second, garbled: true, longest: afterQuery, otherLongest: apart,
		back: recovered, rested: recovered,
	},
	{Garble, underWay}: {
		reason: "nonsense in the middle of questions ends their connections, not the callers' streams: 200 while known, then 503",
		needs:  rewritten, accounts: rewritten, known: second, garbled: true, longest: afterQuery, otherLongest: apart,
		back: recovered, rested: recovered,
	},
}

// redisFaults are the expected effects of the faults of Redis: no call needs
// it. The delay of at most 50 ms is checked by the median of many calls; a
// single call may have waited for a processor.
var redisFaults = map[faultAt]expectation{
	{Slow, atStart}: {
		reason:       "a Redis that is slower than a request waits counts as unavailable: limits are counted here, and the start does not wait",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, idle}: {
		reason:       "the first call waits 40 ms for Redis and the next ones not at all; limits hold to the call",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, underWay}: {
		reason:       "calls in the middle of counting give up after 40 ms and count here: no 5xx, no stream disturbed",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, atStart}: {
		reason:       "the gateway starts without Redis: keys are made, used, limited and revoked as with it, and health says degraded",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, idle}: {
		reason:       "Redis goes between two calls and the second does not notice: the same limit goes on in this process",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, underWay}: {
		reason:       "Redis goes while every call counts there: 0 answers fail, 0 streams break, and the limit holds",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, atStart}: {
		reason:       "a frozen Redis holds up neither the start nor a call, though it accepts every connection",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, idle}: {
		reason:       "one call a second pays 40 ms to learn that Redis is still frozen, all others nothing",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, underWay}: {
		reason:       "calls that wait for a frozen Redis are let go together after 40 ms, and the pool of connections is no queue",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, atStart}: {
		reason:       "connections that die at the first word are no Redis: the start goes on and everything is counted here",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, idle}: {
		reason:       "dead connections in the pool cause no error, and a revocation applies here without its message",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, underWay}: {
		reason:       "counts under way are lost with their connections and counted here instead: no call is lost with them",
		otherLongest: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Truncate, atStart}: {
		reason:       "Redis answers now and then: some calls count there and some here, which lets at most twice the limit pass",
		otherLongest: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Truncate, idle}: {
		reason:       "connections end after some answers: each end moves the counting to the process for a second, and causes no error",
		otherLongest: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Truncate, underWay}: {
		reason:       "a count whose answer was cut is counted here, so that a caller may be counted twice but is never refused for it",
		otherLongest: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Garble, atStart}: {
		reason:       "an answer that is no answer is as good as none; the gateway starts, and counts here what Redis did not",
		otherLongest: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
	{Garble, idle}: {
		reason:       "a garbled length or number is refused as Redis's answer and harms no call; at most twice the limit passes",
		otherLongest: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
	{Garble, underWay}: {
		reason:       "no connection that spoke nonsense answers another call: every caller under load is served as before",
		otherLongest: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
}
