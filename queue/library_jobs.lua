-- The life of a job as clients see it: submit (idempotency keys, chosen ids, answers from finished jobs), list, retry,
-- delete, archive, purge. The steps between are library.lua's.
--
-- An ended job is in three stages: the hash {t}:j:<id> for `archive_ms`; then a blob in the store and {t}:o:<id> (blob,
-- tenant, state, ver; name, print, labels, retried where it has them: about 200 bytes) until `keep_ms` after its end; then
-- {t}:o:<id> with state `gone` for `gone_ms`, which is why it answers 410 and not 404.

local IDEM_MS = 86400000
local RETRYABLE = {failed = true, dead = true}

-- the entry of an archived or forgotten job
local function entry(id)
    local flat, old = call('HGETALL', P .. 'o:' .. id), {}
    for i = 1, #flat, 2 do old[flat[i]] = flat[i + 1] end
    return old.state and old or nil
end

-- how long (ms), for all servers and workers: settings(name, value ...); 0: what KEEP says
local function settings(keys, args)
    for i = 1, #args, 2 do
        if KEEP[args[i]] and args[i + 1] == '0' then
            call('HDEL', P .. 'conf', args[i])
        elseif KEEP[args[i]] then
            call('HSET', P .. 'conf', args[i], args[i + 1])
        end
    end
    return 1
end

local function enter(job_id, tenant, state, now)
    call('ZADD', P .. 'idx:' .. tenant, now, job_id)
    call('ZADD', P .. 'st:' .. tenant .. ':' .. state, now, job_id)
    count('jobs:' .. state)
    count('submitted')
end

-- the digests of a job go from one key to another: a collection's walk through the keys may miss both (library_blobs.lua)
local function moved(job)
    if call('EXISTS', P .. 'collector') == 0 then return end
    for field, value in pairs(job) do
        if string.sub(field, 1, 2) == 'a:' or field == 'module' or field == 'request' or field == 'history' then
            call('SADD', P .. 'moved', string.sub(value, 1, 64))
        end
    end
    call('PEXPIRE', P .. 'moved', 86400000)
end

-- a new job that has ended at once with the artifacts of `from`
local function enter_cached(id, from, given, now)
    local flat = given.fields
    for field, value in pairs(from) do
        local artifact = string.sub(field, 1, 2) == 'a:'
        if artifact or field == 'progress' or field == 'build' or field == 'rollouts' or field == 'tasks' or field == 'done'
            or field == 'tasks_done' then
            flat[#flat + 1] = field
            flat[#flat + 1] = value
        end
    end
    moved(from)
    local origin = (from.cached_from or '') ~= '' and from.cached_from or ((from.name or '') ~= '' and from.name or from.id)
    call('HSET', P .. 'j:' .. id, 'state', 'succeeded', 'ver', '0', 'fence', '0', 'attempt', '0', 'tenant', given.tenant,
         'created', now, 'finished', now, 'first', given.kind, 'stop', '', 'error', '', 'deadline', '0', 'epoch', '0',
         'kind', given.kind, 'join', '', 'wrap', '', 'tasks', '1', 'done', '1', 'cached_from', origin, unpack(flat))
    enter(id, given.tenant, 'succeeded', now)
    count('cached')
    local job = load(id)
    event(job, 'state', 'succeeded')
    retire(job)
    webhook_enter(job, 'succeeded')
    return call('HGETALL', P .. 'j:' .. id)
end

-- The first step begins at once, and all fields are written by one command: what start_step and event would do by several.
local function enter_queued(id, given, now)
    local deadline, flat = given.deadline > 0 and int(now + given.deadline) or '0', given.fields
    for _, text in ipairs({'state', 'queued', 'ver', '1', 'fence', '0', 'attempt', '0', 'tenant', given.tenant, 'created', now,
                           'updated', now, 'first', given.kind, 'stop', '', 'build', '', 'progress', '', 'error', '',
                           'deadline', deadline, 'epoch', '0', 'kind', given.kind, 'tasks', '1', 'done', '0', 'join', '',
                           'wrap', ''}) do
        flat[#flat + 1] = text
    end
    call('HSET', P .. 'j:' .. id, unpack(flat))
    call('SADD', P .. 'open:' .. given.tenant, id)
    if given.deadline > 0 then call('ZADD', P .. 'dl', deadline, id) end
    enter(id, given.tenant, 'queued', now)
    call('ZADD', P .. 'p:' .. id, '0', '0')
    run_add({id = id, tenant = given.tenant, created = now, priority = given.priority})
    ring()
    announce({id = id, ver = '1', name = given.name}, 'state', 'queued')
    return flat
end

-- the finished job that answers this digest, or nil; second value: blob of an archived one that the caller must read
local function answer_of(tenant, digest, source, fields)
    local from = digest ~= '' and call('GET', P .. 'cache:' .. tenant .. ':' .. digest)
    if not from then return nil end
    local job = load(from)
    if job then return job.state == 'succeeded' and job or nil end
    local old = entry(from)
    if not old or old.state ~= 'succeeded' then return nil end
    if source ~= from then return nil, from, old.blob end
    fields.id = from
    return fields
end

-- submit(id, tenant, kind, open_limit:submits_per_s, deadline_ms or 0, name, idem, print, digest, source, module, n,
--        n times field, value, field, value of the source ...)
--   name: chosen by the client, or ''; idem: hash of its Idempotency-Key, or ''; print: what the request is, for both
--   digest: answer from a finished job with this digest, '' never; source: the archived job whose fields follow
--   module: one that the tenant must have, or ''
-- -> {'ok', id, '', fields and values of the new job}
--    {'exists' (this id, this print) | 'replay' (this key, this print), id}
--    {'other' (this id, another print) | 'mismatch' (this key, another print) | 'gone' | 'full' | 'fast' | 'module', id}
--    {'archived', id, blob}: call again with the fields of that blob
local function submit(keys, args)
    local id, given = args[1], {tenant = args[2], kind = args[3], deadline = tonumber(args[5])}
    local limit, rate = limits_of(args[4])
    local name, idem, print, digest, source, module, n = args[6], args[7], args[8], args[9], args[10], args[11],
        tonumber(args[12])
    if module ~= '' and not module_used(given.tenant, module) then return {'module', id} end
    local key = P .. 'idem:' .. given.tenant .. ':' .. idem
    local before = idem ~= '' and call('GET', key)
    if before then
        local old_id, old_print = string.match(before, '^(%S+) (.*)$')
        return {old_print == print and 'replay' or 'mismatch', old_id}
    end
    local old = call('EXISTS', P .. 'j:' .. id, P .. 'o:' .. id) > 0 and (load(id) or entry(id))
    if old and old.state == 'gone' then return {'gone', id} end
    if old then return {(old.print or '') == print and 'exists' or 'other', id} end
    local fields = {}
    for i = 13 + 2 * n, #args, 2 do fields[args[i]] = args[i + 1] end
    local from, archived, blob = answer_of(given.tenant, digest, source, fields)
    if archived then return {'archived', archived, blob} end
    if not from and limit > 0 and call('SCARD', P .. 'open:' .. given.tenant) >= limit then return {'full', id} end
    if not submit_allowed(given.tenant, rate) then return {'fast', id} end
    local now = int(now_ms())
    given.name, given.fields = name, {'print', print}
    for i = 13, 12 + 2 * n do given.fields[i - 10] = args[i] end
    for i = 13, 12 + 2 * n, 2 do given.priority = args[i] == 'priority' and args[i + 1] or given.priority end
    if name ~= '' then
        given.fields[2 * n + 3] = 'name'
        given.fields[2 * n + 4] = name
    end
    if idem ~= '' then call('SET', key, id .. ' ' .. print, 'PX', IDEM_MS) end
    return {'ok', id, '', from and enter_cached(id, from, given, now) or enter_queued(id, given, now)}
end

-- everything of an ended job but the note that it existed
local function forget(id, tenant, state)
    call('DEL', P .. 'j:' .. id, P .. 'ev:' .. id, P .. 'tl:' .. id, P .. 'p:' .. id, P .. 'o:' .. id)
    call('ZREM', P .. 'arch', id)
    call('ZREM', P .. 'dead', id)
    call('ZREM', P .. 'purge', id .. '/' .. tenant .. '/' .. state)
    call('ZREM', P .. 'idx:' .. tenant, id)
    if call('ZREM', P .. 'st:' .. tenant .. ':' .. state, id) == 1 then
        count('jobs:' .. state, -1)
        count('deleted')
    end
    call('HSET', P .. 'o:' .. id, 'state', 'gone', 'tenant', tenant)
    call('PEXPIRE', P .. 'o:' .. id, int(setting('gone_ms')))
end

-- delete(id, entity tags ...) -> 'ok' | 'gone' | 'missing' | 'running' | 'changed' (none of the tags is the job's)
local function delete(keys, args)
    local id = args[1]
    local job = load(id) or entry(id)
    if not job then return 'missing' end
    if job.state == 'gone' then return 'gone' end
    local matches = #args == 1
    for i = 2, #args do matches = matches or args[i] == '*' or args[i] == '"v' .. job.ver .. '"' end
    if not matches then return 'changed' end
    if not TERMINAL[job.state] then return 'running' end
    forget(id, job.tenant, job.state)
    return 'ok'
end

-- an archived job's fields come back into its hash
local function restore(id, args, first)
    call('DEL', P .. 'o:' .. id)
    for i = first, #args, 2 do call('HSET', P .. 'j:' .. id, args[i], args[i + 1]) end
    call('HSET', P .. 'j:' .. id, 'silent', call('HGET', P .. 'j:' .. id, 'ver'))   -- its events are in the store (field `history`)
    local job = load(id)
    moved(job)
    return job
end

-- retry(id, token, open_limit, field, value of an archived job ...)
-- -> {'ok' | 'missing' | 'gone' | 'full' | 'state' (neither failed nor dead), state} or {'archived', blob}
-- The token says, after a lost reply, that it was this call which did it.
local function retry(keys, args)
    local id, token, limit = args[1], args[2], tonumber(args[3])
    local job, old = load(id), nil
    if not job then
        old = entry(id)
        if not old then return {'missing', ''} end
        if old.state == 'gone' then return {'gone', ''} end
    end
    local state = (job or old).state
    if (job or old).retried == token then return {'ok', state} end
    if not RETRYABLE[state] then return {'state', state} end
    if limit > 0 and call('SCARD', P .. 'open:' .. (job or old).tenant) >= limit then return {'full', state} end
    if old and #args == 3 then return {'archived', old.blob} end
    if old then job = restore(id, args, 4) end
    local key, now, span = P .. 'j:' .. id, now_ms(), tonumber(job.deadline) - tonumber(job.accepted or job.created)
    call('ZREM', P .. 'arch', id)
    call('ZREM', P .. 'dead', id)
    call('ZREM', P .. 'purge', id .. '/' .. job.tenant .. '/' .. state)
    drop_fields(job, 'ab')
    call('HDEL', key, 'finished', 'started', 'last', 'search_started', 'rollouts', 'dropped', 'tasks_done')
    call('HSET', key, 'error', '', 'stop', '', 'build', '', 'progress', '', 'attempt', '0', 'accepted', int(now), 'retried', token,
         'deadline', job.deadline ~= '0' and int(now + span) or '0')
    call('PERSIST', key)
    call('PERSIST', P .. 'ev:' .. id)
    call('SADD', P .. 'open:' .. job.tenant, id)
    if job.deadline ~= '0' then call('ZADD', P .. 'dl', int(now + span), id) end
    set_state(job, 'queued')
    start_step(job, tonumber(job.epoch) + 1, job.first, 1, '', '')
    count('retried')
    event(job, 'state', 'queued')
    return {'ok', 'queued'}
end

local function has_labels(id, args, first)
    if not args[first] then return true end
    local text = call('HGET', P .. 'j:' .. id, 'labels') or call('HGET', P .. 'o:' .. id, 'labels')
    local good, labels = pcall(cjson.decode, text or '')
    if not good or type(labels) ~= 'table' then return false end
    for i = first, #args, 2 do
        if labels[args[i]] ~= args[i + 1] then return false end
    end
    return true
end

-- list(tenant, state or '', from_ms, until_ms, position_ms, position_id, limit, scan, label, value ...): newest first,
-- created in [from, until) and before the position; looks at no more than `scan` jobs
-- -> {1 when there may be more, ms, id of the last one looked at, {id, ms, fields of its hash or of its entry} ...}
local function list(keys, args)
    local index = P .. (args[2] == '' and 'idx:' .. args[1] or 'st:' .. args[1] .. ':' .. args[2])
    local from, to, at_ms, at_id = tonumber(args[3]), tonumber(args[4]), tonumber(args[5]), args[6]
    local limit, scan, looked, offset, more = tonumber(args[7]), tonumber(args[8]), 0, 0, 0
    local max = math.min(to > 0 and to - 1 or math.huge, at_ms > 0 and at_ms or math.huge)
    max = max == math.huge and '+inf' or int(max)
    local out, last_ms, last_id = {}, args[5], args[6]
    while more == 0 do
        local found = call('ZREVRANGEBYSCORE', index, max, int(from), 'WITHSCORES', 'LIMIT', offset, 250)
        for i = 1, #found, 2 do
            local id, ms = found[i], found[i + 1]
            local seen = at_ms > 0 and tonumber(ms) == at_ms and id >= at_id
            if not seen and (#out >= limit or looked >= scan) then
                more = 1
                break
            end
            if not seen then
                looked, last_ms, last_id = looked + 1, ms, id
                if has_labels(id, args, 9) then
                    local fields = call('HGETALL', P .. 'j:' .. id)
                    if #fields == 0 then fields = call('HGETALL', P .. 'o:' .. id) end
                    if #fields > 0 then out[#out + 1] = {id, ms, fields} end
                end
            end
        end
        if #found < 500 then break end
        offset = offset + 250
    end
    return {more, last_ms, last_id, unpack(out)}
end

-- due(limit) -> ids of ended jobs that are to be archived
local function due(keys, args)
    return call('ZRANGEBYSCORE', P .. 'arch', '-inf', int(now_ms()), 'LIMIT', 0, tonumber(args[1]))
end

-- archive(id, ver, blob): the job's hash is in the store; -> 1, or 0 when it is not this any more
local function archive(keys, args)
    local id, job = args[1], load(args[1])
    if not job then
        call('ZREM', P .. 'arch', id)
        return 0
    end
    if not TERMINAL[job.state] or job.ver ~= args[2] then return 0 end
    local key, left = P .. 'o:' .. id, call('PTTL', P .. 'j:' .. id)
    moved(job)
    call('HSET', key, 'blob', args[3], 'state', job.state, 'ver', job.ver, 'tenant', job.tenant)
    if (job.name or '') ~= '' then call('HSET', key, 'name', job.name, 'print', job.print) end
    if (job.labels or '') ~= '' then call('HSET', key, 'labels', job.labels) end
    if (job.retried or '') ~= '' then call('HSET', key, 'retried', job.retried) end   -- for a retry whose answer was lost
    if left > 0 then call('PEXPIRE', key, left) end
    call('DEL', P .. 'j:' .. id, P .. 'ev:' .. id, P .. 'tl:' .. id, P .. 'p:' .. id)
    call('ZREM', P .. 'arch', id)
    count('archived')
    return 1
end

-- tidy(): about once a second, by servers: forgets what is due, at most 200 jobs -> how many
local function tidy()
    local now = int(now_ms())
    local gone = call('ZRANGEBYSCORE', P .. 'purge', '-inf', now, 'LIMIT', 0, 200)
    for _, member in ipairs(gone) do
        local id, tenant, state = string.match(member, '^([^/]+)/([^/]+)/([^/]+)$')
        if id then forget(id, tenant, state) else call('ZREM', P .. 'purge', member) end
    end
    return #gone
end

register('submit', submit, {})
register('settings', settings, {'allow-oom'})
register('delete', delete, {'allow-oom'})
register('retry', retry, {'allow-oom'})
register('list', list, {'no-writes', 'allow-oom'})
register('due', due, {'no-writes', 'allow-oom'})
register('archive', archive, {'allow-oom'})
register('tidy', tidy, {'allow-oom'})
