-- Webhooks: an outbox of ended jobs that somebody wants to be told about. Continues library.lua (same chunk).
--
--   {t}:wh        zset: when (ms) the next try is due -> id
--   {t}:whd:<id>  hash: url, state, name, tenant, ended (ms), tries; expires
--
-- A server that takes one up moves it WEBHOOK_HOLD_MS ahead, so that no other sends it meanwhile; one that dies leaves it to be
-- sent again: at least once. A job that starts over and ends again is told again.

local WEBHOOK_HOLD_MS, WEBHOOK_KEEP_MS, WEBHOOK_TRIES = 60000, 5 * 86400000, 10
-- ms after try 1, 2 ..: some 3 days in all
local WEBHOOK_PAUSES = {5000, 300000, 1800000, 7200000, 18000000, 36000000, 50400000, 72000000, 86400000}

webhook_enter = function(job, state)
    if (job.webhook or '') == '' then return end
    local key, now = P .. 'whd:' .. job.id, int(now_ms())
    call('DEL', key)
    call('HSET', key, 'url', job.webhook, 'state', state, 'name', job.name or '', 'tenant', job.tenant, 'ended', now, 'tries', '0')
    call('PEXPIRE', key, WEBHOOK_KEEP_MS)
    call('ZADD', P .. 'wh', now, job.id)
end

local function webhook_drop(id)
    call('ZREM', P .. 'wh', id)
    call('DEL', P .. 'whd:' .. id)
end

-- webhook_due() -> id and the fields of the next one, which is this caller's for a while; nil: none is due
local function webhook_due()
    local id = call('ZRANGEBYSCORE', P .. 'wh', '-inf', int(now_ms()), 'LIMIT', 0, 1)[1]
    if not id then return nil end
    if call('EXISTS', P .. 'whd:' .. id) == 0 then
        call('ZREM', P .. 'wh', id)
        return nil
    end
    call('ZADD', P .. 'wh', int(now_ms() + WEBHOOK_HOLD_MS), id)
    call('HINCRBY', P .. 'whd:' .. id, 'tries', 1)
    return {id, call('HGETALL', P .. 'whd:' .. id)}
end

-- webhook_done(id, 'sent' | 'again' | 'refused') -> what became of it: 'sent', 'again', 'given_up'
local function webhook_done(keys, args)
    local id, outcome = args[1], args[2]
    local tries = tonumber(call('HGET', P .. 'whd:' .. id, 'tries') or '')
    if outcome == 'again' and tries and tries < WEBHOOK_TRIES then
        call('ZADD', P .. 'wh', int(now_ms() + WEBHOOK_PAUSES[math.min(math.max(tries, 1), #WEBHOOK_PAUSES)]), id)
        count('webhooks:again')
        return 'again'
    end
    webhook_drop(id)
    outcome = outcome == 'sent' and 'sent' or 'given_up'
    if tries then count('webhooks:' .. outcome) end
    return outcome
end

register('webhook_due', webhook_due, {'allow-oom'})
register('webhook_done', webhook_done, {'allow-oom'})
