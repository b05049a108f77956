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

// quotaTakeLua writes a replica's entry for an account and decides on calls, one
// after the other.
//
//	KEYS   and the account's entries, each "seq live minute tokens"
//	ARGV   and seq, live, minute, tokens, whether the fair share applies as well,
//	       replicas, how long entries are kept; and of each call the limits of
//	       concurrent calls and tokens a minute, and the tokens that it needs
//	answer now, replicas, resyncing, known, the others' calls, the others' tokens,
//	       this replica's tokens; and of each call its verdict, and the tokens
//	       that are left
//
// A message that a later one has overtaken is refused: no call waits for it any
// more. The tokens of a replica that has ended count to the end of the minute.
const quotaTakeLua = quotaPreludeLua + `
local minute = math.floor(now / 60000)
local seq, live, at, tokens = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local share, n = ARGV[8] == '1' or resyncing == 1, math.max(tonumber(ARGV[9]), replicas)
local calls, counted, before = 0, 0, 0
local entries = redis.call('HGETALL', KEYS[3])
for i = 1, #entries, 2 do
	local s, l, m, t = string.match(entries[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
	s, l, m, t = tonumber(s or 0), tonumber(l or 0), tonumber(m or 0), tonumber(t or 0)
	if m ~= minute then t = 0 end
	if entries[i] == me then
		if s >= seq then return redis.error_reply('ERR overtaken') end
		before = t
	else
		counted = counted + t
		if redis.call('ZSCORE', KEYS[1], entries[i]) then
			calls = calls + l
		elseif m ~= minute then
			redis.call('HDEL', KEYS[3], entries[i])
		end
	end
end
if at ~= minute then tokens = before end
local answer = {}
for i = 11, #ARGV, 3 do
	local most, limit, need = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
	local left, places, ask = limit - counted - tokens, most - calls, need
	if share then
		local part = math.floor(limit / n)
		left, ask = math.min(left, part - tokens), math.min(need, part)
		places = math.min(places, math.max(math.floor(most / n), 1))
	end
	local why = 0
	if limit > 0 and ask > left then
		why = 1
	elseif most > 0 and live >= places then
		why = 2
	else
		live, tokens, left = live + 1, tokens + need, left - need
	end
	answer[#answer + 1] = why
	answer[#answer + 1] = math.max(left, 0)
end
redis.call('HSET', KEYS[3], me, string.format('%.0f %.0f %.0f %.0f', seq, live, minute, tokens))
redis.call('PEXPIRE', KEYS[3], ARGV[10])
local all = {now, replicas, resyncing, known, calls, counted, tokens}
for i = 1, #answer do all[#all + 1] = answer[i] end
return all
`
