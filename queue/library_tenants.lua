-- Who uses the service: API keys, and whose turn it is. Continues library.lua (same chunk).
--
--   {t}:keys        hash: key id -> record (queue/keys.h);  {t}:keysv: number of its changes
--   {t}:blob:<tenant>  hash: digest of a module that the tenant has -> "size last_use_ms digest" (in the value as well:
--                   a collection of blobs looks for digests in values)
--   {t}:blobs       hash: tenant -> bytes of these
--   {t}:rate:<tenant>  hash: tokens (thousandths of a submission) and when (ms) they were counted
--   {t}:r:<tenant>  zset: the tenant's jobs of {t}:run, best first: higher priority, then older
--   {t}:vt          zset: virtual time -> tenant, of the tenants that have jobs in {t}:run
--   {t}:vts         hash: tenant -> virtual time, also of those without; field '': the virtual time last served
--   {t}:weight      hash: tenant -> share of the workers it should get relative to others (1 when absent)
--   {t}:ms          hash: kind -> what its tasks took lately (ms)
--
-- Fairness is stride scheduling in two levels (Waldspurger and Weihl 1995). A tenant's virtual time grows by the time that
-- its tasks hold workers, divided by its weight; the least goes first; within a tenant priority, then age. A task is
-- charged when it begins, with what its kind took lately (else whoever is least would get every idle worker at once), and
-- corrected when it ends. A tenant that comes, or comes back, starts where the least is served: nobody saves up turns.

local UNIT = 1000            -- of virtual time: 1 ms at weight 1
local SLICE_MS = 1000        -- a worker stays with a tenant for so much: another job costs it reading and analysing
local PRIORITIES = 9         -- 0 to 9
local TENANTS_LOOK, JOBS_LOOK, LOOKS = 64, 16, 128   -- jobs may be pinned to other builds

local function weight_of(tenant)
    return tonumber(call('HGET', P .. 'weight', tenant) or '1')
end

local function charge(tenant, ms)
    local vt = call('HINCRBY', P .. 'vts', tenant, int(math.floor(ms * UNIT / weight_of(tenant))))
    call('ZADD', P .. 'vt', 'XX', vt, tenant)
end

run_add = function(job)
    if job.kind == 'referee' then   -- no work for planning workers
        call('ZADD', P .. 'ref:' .. job.referee, job.created, job.id)
        return
    end
    -- creation in ms has 13 digits: a step of priority outweighs it, and the sum stays below 2^53
    local rank = (PRIORITIES - tonumber(job.priority or '0')) * 1e13 + tonumber(job.created)
    call('ZADD', P .. 'run', job.created, job.id)
    call('ZADD', P .. 'r:' .. job.tenant, int(rank), job.id)
    if not call('ZSCORE', P .. 'vt', job.tenant) then
        local before = call('HMGET', P .. 'vts', job.tenant, '')
        local vt = int(math.max(tonumber(before[1] or '0'), tonumber(before[2] or '0')))
        call('HSET', P .. 'vts', job.tenant, vt)
        call('ZADD', P .. 'vt', vt, job.tenant)
    end
end

local function remove_from(tenant, id)
    call('ZREM', P .. 'run', id)
    call('ZREM', P .. 'r:' .. tenant, id)
    if call('EXISTS', P .. 'r:' .. tenant) == 0 then call('ZREM', P .. 'vt', tenant) end
end

run_remove = function(job)
    remove_from(job.tenant, job.id)
    if (job.referee or '') ~= '' then call('ZREM', P .. 'ref:' .. job.referee, job.id) end
end

-- a few jobs that {t}:run has and their tenant's set has not: added by another version of this library
run_mend = function()
    for _, id in ipairs(call('ZRANGE', P .. 'run', 0, 7)) do
        local j = call('HMGET', P .. 'j:' .. id, 'tenant', 'state')
        if j[1] and not TERMINAL[j[2]] and not call('ZSCORE', P .. 'r:' .. j[1], id) then run_add(load(id)) end
    end
end

-- how far the tenant is ahead of whoever waits longest, in ms of work
local function lead(tenant, least)
    local vt = tonumber(call('HGET', P .. 'vts', tenant) or '0')
    return (vt - least) * weight_of(tenant) / UNIT
end

-- tenants in the order of their turns, `last` first while its slice lasts
local function turns(last)
    local flat, order = call('ZRANGE', P .. 'vt', 0, TENANTS_LOOK - 1, 'WITHSCORES'), {}
    if last ~= '' and flat[3] and call('ZSCORE', P .. 'vt', last) and lead(last, tonumber(flat[2])) <= SLICE_MS then
        order[1] = last
    else
        last = ''
    end
    for i = 1, #flat, 2 do
        if flat[i] ~= last then order[#order + 1] = flat[i] end
    end
    return order
end

local function served(tenant)
    local vts = call('HMGET', P .. 'vts', tenant, '')
    if tonumber(vts[1] or '0') > tonumber(vts[2] or '0') then call('HSET', P .. 'vts', '', vts[1]) end
end

-- the first task in the order of turns that claim_job(id, token, build) gives
run_claim = function(token, build, last, claim_job)
    local looks = LOOKS
    for _, tenant in ipairs(turns(last)) do
        for _, id in ipairs(call('ZRANGE', P .. 'r:' .. tenant, 0, JOBS_LOOK - 1)) do
            local task, why = claim_job(id, token, build)
            if task then return task end
            if why == 'gone' then remove_from(tenant, id) end
            looks = looks - 1
            if looks == 0 then return nil end
        end
    end
    return nil
end

-- the next step's first task for the worker that ended this one; nil when it is another tenant's turn: the worker claims
run_next = function(job, token, take)
    if job.kind == 'referee' or claim_late(token) then return nil end
    local least = call('ZRANGE', P .. 'vt', 0, 0, 'WITHSCORES')
    if least[1] and least[1] ~= job.tenant and lead(job.tenant, tonumber(least[2])) > SLICE_MS then return nil end
    return take(job, token)
end

-- another task of the step for the worker that ended one of it; nil when a claim would give one of another job
run_more = function(job, token, take)
    if call('ZRANGE', P .. 'r:' .. job.tenant, 0, 0)[1] ~= job.id then return nil end
    return run_next(job, token, take)
end

-- v:<i> of {t}:k:<id>:<epoch>: when task i began and what was charged
task_begins = function(job, index)
    if job.kind == 'referee' then return end   -- it holds no planning worker
    local ms = tonumber(call('HGET', P .. 'ms', job.kind) or '50')
    served(job.tenant)
    charge(job.tenant, ms)
    call('HSET', P .. 'k:' .. job.id .. ':' .. job.epoch, 'v:' .. index, int(now_ms()) .. ':' .. int(ms))
end

local function settle(job, text)
    local began, charged = string.match(text, '^(%d+):(%d+)$')
    local took = math.max(0, now_ms() - tonumber(began))
    charge(job.tenant, took - tonumber(charged))
    -- an eighth of the way to the newest, at least 1 ms of it
    local before = tonumber(call('HGET', P .. 'ms', job.kind) or '50')
    local step = (took - before) / 8
    call('HSET', P .. 'ms', job.kind, int(math.max(1, before + (step < 0 and math.floor(step) or math.ceil(step)))))
end

task_ends = function(job, index)
    local k = P .. 'k:' .. job.id .. ':' .. job.epoch
    local text = call('HGET', k, 'v:' .. index)
    if not text then return end
    call('HDEL', k, 'v:' .. index)
    settle(job, text)
end

-- the step is dropped (committed, ended, cancelled ..) with whatever runs of it
step_ends = function(job)
    for i = 0, tonumber(job.tasks or '0') - 1 do task_ends(job, int(i)) end
end

-- key_add(id, record) -> 'ok' | 'exists'
local function key_add(keys, args)
    local old = call('HGET', P .. 'keys', args[1])
    if old and old ~= args[2] then return 'exists' end
    if not old then
        call('HSET', P .. 'keys', args[1], args[2])
        call('INCR', P .. 'keysv')
    end
    return 'ok'
end

-- key_revoke(id, '1': even the last) -> 'ok' | 'missing' | 'last'
local function key_revoke(keys, args)
    if call('HEXISTS', P .. 'keys', args[1]) == 0 then return 'missing' end
    if args[2] ~= '1' and call('HLEN', P .. 'keys') == 1 then return 'last' end
    call('HDEL', P .. 'keys', args[1])
    call('INCR', P .. 'keysv')
    return 'ok'
end

-- ---- what a tenant has and may ----

local MODULE_KEEP_MS = 30 * 86400000   -- without being sent, read or named

-- module_add(tenant, digest, size) -> 'new' | 'exists', until when (ms) it is kept if it is not used before
local function module_add(keys, args)
    local key = P .. 'blob:' .. args[1]
    local old = call('HGET', key, args[2])
    call('HSET', key, args[2], args[3] .. ' ' .. int(now_ms()) .. ' ' .. args[2])
    if not old then call('HINCRBY', P .. 'blobs', args[1], args[3]) end
    return {old and 'exists' or 'new', now_ms() + MODULE_KEEP_MS}
end

-- whether the tenant has it; writes once an hour at most
module_used = function(tenant, digest)
    local key, now = P .. 'blob:' .. tenant, now_ms()
    local size, used = string.match(call('HGET', key, digest) or '', '^(%d+) (%d+) ')
    if size and now - tonumber(used) > 3600000 then call('HSET', key, digest, size .. ' ' .. int(now) .. ' ' .. digest) end
    return size ~= nil
end

-- module_use(tenant, digest) -> 'ok' and until when (ms) it is kept | 'missing'
local function module_use(keys, args)
    if not module_used(args[1], args[2]) then return {'missing'} end
    local used = string.match(call('HGET', P .. 'blob:' .. args[1], args[2]), '^%d+ (%d+) ')
    return {'ok', tonumber(used) + MODULE_KEEP_MS}
end

local function module_forget(tenant, digest, size)
    call('HDEL', P .. 'blob:' .. tenant, digest)
    call('HINCRBY', P .. 'blobs', tenant, '-' .. size)
    if call('EXISTS', P .. 'blob:' .. tenant) == 0 then call('HDEL', P .. 'blobs', tenant) end
end

-- module_drop(tenant, digest) -> 'ok' | 'missing'
local function module_drop(keys, args)
    local size = string.match(call('HGET', P .. 'blob:' .. args[1], args[2]) or '', '^(%d+) ')
    if not size then return 'missing' end
    module_forget(args[1], args[2], size)
    return 'ok'
end

-- forgets what was not used for long, some at a time: a few modules of any one tenant, as the reaper comes by
modules_expire = function()
    local tenant = call('HRANDFIELD', P .. 'blobs')
    if not tenant then return end
    local some, before = call('HRANDFIELD', P .. 'blob:' .. tenant, 10, 'WITHVALUES'), now_ms() - MODULE_KEEP_MS
    for i = 1, #some, 2 do
        local size, used = string.match(some[i + 1], '^(%d+) (%d+) ')
        if tonumber(used) < before then module_forget(tenant, some[i], size) end
    end
end

-- module_usage(tenant) -> {bytes, modules}
local function module_usage(keys, args)
    return {tonumber(call('HGET', P .. 'blobs', args[1]) or '0'), call('HLEN', P .. 'blob:' .. args[1])}
end

-- "open jobs:submissions a second" -> both; 0: no limit
limits_of = function(text)
    local open, rate = string.match(text, '^(%d+):(%d+)$')
    return tonumber(open), tonumber(rate)
end

-- whether the tenant may submit once more now: a bucket of five seconds' worth that fills at `rate` a second
submit_allowed = function(tenant, rate)
    if rate <= 0 then return true end
    local key, now = P .. 'rate:' .. tenant, now_ms()
    local room = rate * 5000
    local held = call('HMGET', key, 'tokens', 'at')
    local tokens = room
    if held[1] then tokens = math.min(room, tonumber(held[1]) + math.max(0, now - tonumber(held[2])) * rate) end
    if tokens < 1000 then return false end
    call('HSET', key, 'tokens', int(tokens - 1000), 'at', int(now))
    call('PEXPIRE', key, 10000)
    return true
end

-- session_add(key of the session, what it stands for, seconds)
local function session_add(keys, args)
    call('SET', args[1], args[2], 'EX', args[3])
    return 1
end

register('module_add', module_add, {})
register('module_use', module_use, {'allow-oom'})
register('module_drop', module_drop, {'allow-oom'})
register('module_usage', module_usage, {'allow-oom', 'no-writes'})
register('session_add', session_add, {'allow-oom'})
register('key_add', key_add, {'allow-oom'})
register('key_revoke', key_revoke, {'allow-oom'})
