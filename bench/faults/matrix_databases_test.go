package faults

// postgresFaults is what must come of the faults of PostgreSQL, with one gateway
// that wants credentials, and needs it, and one that does not.
var postgresFaults = map[trouble]expectation{
	{Slow, atStart}: {
		why:   "a slow database delays the start and the first calls; keys, tokens and logins are good",
		needs: served, accounts: served, longest: afterQuery, spared: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, idle}: {
		why:   "a slow database is asked beside the requests: who is known does not wait, who logs in does, and nobody is refused",
		needs: served, accounts: served, longest: afterQuery, spared: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, underWay}: {
		why:   "known callers go on as before while each query takes a tenth of a second",
		needs: served, accounts: served, longest: afterQuery, spared: apart,
		says: healthy, whole: "healthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, atStart}: {
		why:   "the gateway waits for its database with /health at 503 and serves what needs none; a good key is 503, never 401",
		needs: without, accounts: without, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, idle}: {
		why:   "a second later known keys and tokens are 503 like logins and lists; open mode is served as if nothing were",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, underWay}: {
		why:   "streams that have begun go on to their end; who comes is known for a second and then refused with 503",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, atStart}: {
		why:   "a database that accepts and is silent does not keep the gateway from listening and saying so",
		needs: without, accounts: without, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, idle}: {
		why:   "every query ends at its own deadline: 503 within two and a half seconds, with no deadline of the network's",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, underWay}: {
		why:   "the pool fills with silent connections and nobody waits for it: known for a second, then 503, streams go on",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, atStart}: {
		why:   "each try at the schema is reset and another follows: 503 for who needs the database, no exit and no 401",
		needs: without, accounts: without, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, idle}: {
		why:   "all pooled connections are dead at once and new ones die too: 503 without delay once nobody is known",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, underWay}: {
		why:   "questions under way are lost with their connections: the callers are served while known and then get 503",
		needs: without, accounts: without, known: second, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: recovered, rested: recovered,
	},
	{Truncate, atStart}: {
		why:   "connections that break off after some bytes let a query through now and then: right answers or 503",
		needs: perhaps, accounts: perhaps, longest: afterQuery, spared: apart, back: recovered, rested: recovered,
	},
	{Truncate, idle}: {
		why:   "a row that was cut is no row: 503 and not a key that does not exist; whoever gets a 200 gets the right one",
		needs: perhaps, accounts: perhaps, known: second, longest: afterQuery, spared: apart, back: recovered, rested: recovered,
	},
	{Truncate, underWay}: {
		why:   "keys stay known as long as any query gets through, and are 503 when none does; streams go on",
		needs: perhaps, accounts: perhaps, known: second, longest: afterQuery, spared: apart, back: recovered, rested: recovered,
	},
	{Garble, atStart}: {
		why:   "nobody can log in at a garbled server, so that it is as good as gone: 503 and no answer made of nonsense",
		needs: without, accounts: without, longest: afterQuery, spared: apart,
		says: down, whole: "unhealthy", within: 5 * second, back: afterTry, rested: afterTry,
	},
	{Garble, idle}: {
		why:   "pooled connections speak nonsense until they are used up: served while known, then 503, and nothing panics or hangs",
		needs: rewritten, accounts: rewritten, known: second, garbled: true, longest: afterQuery, spared: apart,
		back: recovered, rested: recovered,
	},
	{Garble, underWay}: {
		why:   "nonsense in the middle of questions ends their connections, not the callers' streams: 200 while known, then 503",
		needs: rewritten, accounts: rewritten, known: second, garbled: true, longest: afterQuery, spared: apart,
		back: recovered, rested: recovered,
	},
}

// redisFaults is what must come of the faults of Redis: no call needs it. That
// it costs 50 ms at most shows in the middle of many; a single call may have
// waited for a processor.
var redisFaults = map[trouble]expectation{
	{Slow, atStart}: {
		why:    "a Redis slower than a request waits for is as good as none: limits are counted here, and nobody waits for the start",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, idle}: {
		why:    "the first call waits 40 ms for Redis and the next ones not at all; limits hold to the call",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Slow, underWay}: {
		why:    "calls in the middle of counting give up after 40 ms and count here: no 5xx, no stream disturbed",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, atStart}: {
		why:    "the gateway starts without Redis: keys are made, used, limited and revoked as with it, and health says degraded",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, idle}: {
		why:    "Redis goes between two calls and the second does not notice: the same limit goes on in this process",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Refuse, underWay}: {
		why:    "Redis goes while every call counts there: 0 answers fail, 0 streams break, and the limit holds",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, atStart}: {
		why:    "a frozen Redis holds up neither the start nor a call, though it accepts every connection",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, idle}: {
		why:    "one call a second pays 40 ms to learn that Redis is still frozen, all others nothing",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Freeze, underWay}: {
		why:    "calls that wait for a frozen Redis are let go together after 40 ms, and the pool of connections is no queue",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, atStart}: {
		why:    "connections that die at the first word are no Redis: the start goes on and everything is counted here",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, idle}: {
		why:    "dead connections in the pool cost nobody an error, and a revocation holds here without being announced",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Reset, underWay}: {
		why:    "counts under way are lost with their connections and counted here instead: no call is lost with them",
		spared: apart, typical: second / 10, limit: 1,
		says: down, whole: degraded, within: 5 * second, back: recovered, rested: recovered,
	},
	{Truncate, atStart}: {
		why:    "Redis answers now and then: some calls count there and some here, which lets at most twice the limit pass",
		spared: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Truncate, idle}: {
		why:    "connections end after some answers: each end moves the counting here for a second, and is nobody's error",
		spared: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Truncate, underWay}: {
		why:    "a count whose answer was cut is counted here, so that a caller may be counted twice but is never refused for it",
		spared: apart, typical: second / 10, limit: 2, back: recovered, rested: recovered,
	},
	{Garble, atStart}: {
		why:    "an answer that is no answer is as good as none; the gateway starts, and counts here what Redis did not",
		spared: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
	{Garble, idle}: {
		why:    "a garbled length or number is refused as Redis's answer and harms no call; at most twice the limit passes",
		spared: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
	{Garble, underWay}: {
		why:    "no connection that spoke nonsense answers another call: every caller under load is served as before",
		spared: apart, typical: second / 10, limit: 2, garbled: true, back: recovered, rested: recovered,
	},
}
