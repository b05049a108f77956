package ratelimit

const (
	quotaReplicas  = "mgw:quota:replicas" // until when each replica counts as alive, in milliseconds
	quotaResyncing = "mgw:quota:settling" // exists while entries may be missing
	quotaEntries   = "mgw:quota:account:" // before an account: its entries by replica
)

// quotaPreludeLua begins both scripts. It notes that a replica is alive. If none
// was, Redis is new or has lost its data, and a resync begins.
//
//	KEYS replicas, resyncing
//	ARGV replica, lease and time of a resync in milliseconds
const quotaPreludeLua = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local me, lease = ARGV[1], tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + lease), '+inf')
local known = redis.call('ZSCORE', KEYS[1], me) and 1 or 0
if redis.call('ZCARD', KEYS[1]) == 0 then
	redis.call('SET', KEYS[2], 1, 'PX', ARGV[3])
end
redis.call('ZADD', KEYS[1], now + lease, me)
redis.call('PEXPIRE', KEYS[1], lease)
local replicas = redis.call('ZCARD', KEYS[1])
local resyncing = redis.call('EXISTS', KEYS[2])
`

// quotaHeartbeatLua answers as quotaTakeLua begins its answer.
const quotaHeartbeatLua = quotaPreludeLua + `
return {now, replicas, resyncing, known}
`

// quotaTakeLua writes a replica's entries for accounts and decides on calls, one
// after the other. A call is counted on some of the accounts: on all of them or on
// none.
//
//	KEYS   and for each account the entries, each "seq live minute tokens"
//	ARGV   and seq, whether the fair share applies as well, replicas, how long entries
//	       are kept, and the number of accounts; of each account live, minute and
//	       tokens; and of each call the number of its accounts, and of each of these its
//	       place, its limits of concurrent calls and tokens a minute, and the tokens
//	       that the call needs
//	answer now, replicas, resyncing, known; of each account the others' calls, the
//	       others' tokens and this replica's tokens; and of each call its verdict,
//	       which of its accounts refuses, and for each of them the tokens that are left
//
// A message that a later one has overtaken is refused: no call waits for it any
// more. The tokens of a replica that has ended count to the end of the minute.
const quotaTakeLua = quotaPreludeLua + `
local minute = math.floor(now / 60000)
local seq, share, n = tonumber(ARGV[4]), ARGV[5] == '1' or resyncing == 1, math.max(tonumber(ARGV[6]), replicas)
local accounts, at = {}, 9
for k = 1, tonumber(ARGV[8]) do
	local a = {live = tonumber(ARGV[at]), tokens = tonumber(ARGV[at + 2]), calls = 0, counted = 0}
	local before = 0
	local entries = redis.call('HGETALL', KEYS[2 + k])
	for i = 1, #entries, 2 do
		local s, l, m, t = string.match(entries[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
		s, l, m, t = tonumber(s or 0), tonumber(l or 0), tonumber(m or 0), tonumber(t or 0)
		if m ~= minute then t = 0 end
		if entries[i] == me then
			if s >= seq then return redis.error_reply('ERR overtaken') end
			before = t
		else
			a.counted = a.counted + t
			if redis.call('ZSCORE', KEYS[1], entries[i]) then
				a.calls = a.calls + l
			elseif m ~= minute then
				redis.call('HDEL', KEYS[2 + k], entries[i])
			end
		end
	end
	if tonumber(ARGV[at + 1]) ~= minute then a.tokens = before end
	accounts[k] = a
	at = at + 3
end
local verdicts = {}
while at <= #ARGV do
	local shares, why, by, lefts = tonumber(ARGV[at]), 0, 0, {}
	for p = 1, shares do
		local i = at + 4 * p - 3
		local a = accounts[tonumber(ARGV[i])]
		local most, limit, need = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
		local left, places, ask = limit - a.counted - a.tokens, most - a.calls, need
		if share then
			local part = math.floor(limit / n)
			left, ask = math.min(left, part - a.tokens), math.min(need, part)
			places = math.min(places, math.max(math.floor(most / n), 1))
		end
		lefts[p] = left
		if why == 0 and limit > 0 and ask > left then
			why, by = 1, p
		elseif why == 0 and most > 0 and a.live >= places then
			why, by = 2, p
		end
	end
	verdicts[#verdicts + 1], verdicts[#verdicts + 2] = why, by
	for p = 1, shares do
		local i = at + 4 * p - 3
		if why == 0 then
			local a, need = accounts[tonumber(ARGV[i])], tonumber(ARGV[i + 3])
			a.live, a.tokens, lefts[p] = a.live + 1, a.tokens + need, lefts[p] - need
		end
		verdicts[#verdicts + 1] = math.max(lefts[p], 0)
	end
	at = at + 1 + 4 * shares
end
local answer = {now, replicas, resyncing, known}
for k, a in ipairs(accounts) do
	redis.call('HSET', KEYS[2 + k], me, string.format('%.0f %.0f %.0f %.0f', seq, a.live, minute, a.tokens))
	redis.call('PEXPIRE', KEYS[2 + k], ARGV[7])
	answer[#answer + 1] = a.calls
	answer[#answer + 1] = a.counted
	answer[#answer + 1] = a.tokens
end
for i = 1, #verdicts do answer[#answer + 1] = verdicts[i] end
return answer
`
