package ratelimit

const (
	quotaReplicas = "mgw:quota:replicas" // until when each replica counts as alive, in milliseconds
	quotaEntries  = "mgw:quota:account:" // before an account: its entries by replica
)

// quotaPreludeLua begins both scripts. It notes that a replica is alive.
//
//	KEYS replicas
//	ARGV replica and lease in milliseconds
const quotaPreludeLua = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local me, lease = ARGV[1], tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + lease), '+inf')
local known = redis.call('ZSCORE', KEYS[1], me) and 1 or 0
redis.call('ZADD', KEYS[1], now + lease, me)
redis.call('PEXPIRE', KEYS[1], lease)
`

// quotaHeartbeatLua answers as quotaTakeLua begins its answer.
const quotaHeartbeatLua = quotaPreludeLua + `
return {now, known}
`

// quotaTakeLua writes a replica's entries for accounts and decides on calls, one
// after the other. A call is counted on some of the accounts: on all of them or on
// none.
//
//	KEYS   and for each account the entries, each "seq live minute tokens"
//	ARGV   and seq, how long entries are kept, and the number of accounts; of each account
//	       live, minute and tokens; and of each call the number of its accounts, and of
//	       each of these its place, its limits of concurrent calls and tokens a minute, and
//	       the tokens that the call needs
//	answer now, whether the replica was known; of each account this replica's tokens; and
//	       of each call its verdict, which of its accounts refuses, and for each of them the
//	       tokens that are left
//
// A message that a later one has overtaken is refused: no call waits for it any
// more. The tokens of a replica that has ended count to the end of the minute.
const quotaTakeLua = quotaPreludeLua + `
local minute = math.floor(now / 60000)
local seq = tonumber(ARGV[3])
local accounts, at = {}, 6
for k = 1, tonumber(ARGV[5]) do
	local a = {live = tonumber(ARGV[at]), tokens = tonumber(ARGV[at + 2]), calls = 0, counted = 0}
	local before = 0
	local entries = redis.call('HGETALL', KEYS[1 + k])
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
				redis.call('HDEL', KEYS[1 + k], entries[i])
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
		lefts[p] = limit - a.counted - a.tokens
		if why == 0 and limit > 0 and need > lefts[p] then
			why, by = 1, p
		elseif why == 0 and most > 0 and a.live >= most - a.calls then
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
local answer = {now, known}
for k, a in ipairs(accounts) do
	redis.call('HSET', KEYS[1 + k], me, string.format('%.0f %.0f %.0f %.0f', seq, a.live, minute, a.tokens))
	redis.call('PEXPIRE', KEYS[1 + k], ARGV[4])
	answer[#answer + 1] = a.tokens
end
for i = 1, #verdicts do answer[#answer + 1] = verdicts[i] end
return answer
`
