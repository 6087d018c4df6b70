-- The audit (queue/audit.h): what must be true of every job and of the sets, looked at atomically job by job, so that it may
-- run beside live traffic. Read-only. Each answer is a flat list: number of the invariant, subject, what is wrong.

local function audit_list()
    local out = {}
    return out, function(invariant, subject, text)
        out[#out + 1] = tostring(invariant)
        out[#out + 1] = subject
        out[#out + 1] = text
    end
end

-- invariant 1: each task of the present step is in exactly one place, and somebody will look there
local function audit_tasks(job, bad)
    local k, done, pending = P .. 'k:' .. job.id .. ':' .. job.epoch, 0, call('ZCARD', P .. 'p:' .. job.id)
    for i = 0, tonumber(job.tasks) - 1 do
        local index, places = int(i), 0
        if call('HEXISTS', k, 'r:' .. index) == 1 then places, done = 1, done + 1 end
        if call('ZSCORE', P .. 'p:' .. job.id, index) then places = places + 1 end
        if call('ZSCORE', P .. 'lease', member_of(job, index)) then places = places + 1 end
        if places == 0 then
            bad(1, job.id, 'task ' .. index .. ' of ' .. job.kind .. ' is not done, not leased and not claimable')
        elseif places > 1 then
            bad(1, job.id, 'task ' .. index .. ' of ' .. job.kind .. ' is in ' .. places .. ' places')
        end
    end
    local waits = job.kind == 'referee' and 'ref:' .. job.referee or 'run'
    if pending > 0 and not call('ZSCORE', P .. waits, job.id) then
        bad(1, job.id, 'has tasks to claim but is not in ' .. waits)
    end
    if pending > 0 and waits == 'run' and not call('ZSCORE', P .. 'r:' .. job.tenant, job.id) then
        bad(1, job.id, 'has tasks to claim but its tenant\'s turn does not find it')
    end
    if tonumber(job.deadline) > 0 and not call('ZSCORE', P .. 'dl', job.id) then
        bad(1, job.id, 'has a deadline that nobody watches')
    end
    if call('TTL', P .. 'j:' .. job.id) >= 0 then bad(1, job.id, 'has not ended but will expire') end
    if tonumber(job.done) ~= done then
        bad(7, job.id, 'says that ' .. job.done .. ' tasks of its step are done; results are ' .. done)
    end
end

-- invariants 2, 3 and 5, from the job's events; a retried job ends once more after each `queued`
local function audit_events(job, bad)
    local key = P .. 'ev:' .. job.id
    if call('EXISTS', key) == 0 then
        bad(2, job.id, 'its events are gone')
        return
    end
    local over, ver, fence = nil, 0, 0   -- over: how it ended
    for _, entry in ipairs(call('XRANGE', key, '-', '+')) do
        local f = {}
        for i = 1, #entry[2], 2 do f[entry[2][i]] = entry[2][i + 1] end
        if f.ver and tonumber(f.ver) <= ver then
            bad(5, job.id, 'event ' .. entry[1] .. ' has version ' .. f.ver .. ' after ' .. int(ver))
        end
        ver = tonumber(f.ver) or ver
        if f.fence then
            if tonumber(f.fence) <= fence then
                bad(3, job.id, 'event ' .. entry[1] .. ' has fence ' .. f.fence .. ' after ' .. int(fence))
            end
            fence = tonumber(f.fence)
        end
        if f.event == 'state' and f.data == 'queued' then
            over = nil
        elseif over then
            bad(2, job.id, f.event == 'state' and TERMINAL[f.data] and 'ended twice: ' .. f.data
                or 'event ' .. entry[1] .. ' after the end: ' .. tostring(f.event))
        elseif f.event == 'state' and TERMINAL[f.data] then
            over = f.data
        end
    end
    if over and over ~= job.state then bad(2, job.id, 'ended as ' .. over .. ' but is ' .. job.state) end
    if not over and TERMINAL[job.state] then bad(2, job.id, 'has ended without an event') end
    if fence > tonumber(job.fence) then
        bad(3, job.id, 'a commit has fence ' .. int(fence) .. ', the job only ' .. job.fence)
    end
    local info = call('XINFO', 'STREAM', key)
    for i = 1, #info, 2 do
        if info[i] == 'entries-added' then
            local changes = info[i + 1] + tonumber(job.silent or '0')
            if changes ~= tonumber(job.ver) then
                bad(5, job.id, 'version ' .. job.ver .. ' after ' .. int(changes) .. ' visible changes')
            end
        end
    end
end

-- an ended job, archived or not: in the indices while it is shown, and somebody will forget it
local function audit_kept(job, bad)
    if not call('ZSCORE', P .. 'idx:' .. job.tenant, job.id) then bad(1, job.id, 'is not in the index of its tenant') end
    if not call('ZSCORE', P .. 'st:' .. job.tenant .. ':' .. job.state, job.id) then
        bad(7, job.id, 'is ' .. job.state .. ' but not in the index of this state')
    end
    if not call('ZSCORE', P .. 'purge', job.id .. '/' .. job.tenant .. '/' .. job.state) then
        bad(6, job.id, 'has ended but nobody will forget it')
    end
    if (job.state == 'dead') ~= (call('ZSCORE', P .. 'dead', job.id) and true or false) then
        bad(7, job.id, 'is ' .. job.state .. (job.state == 'dead' and ' but not' or ' but') .. ' in the set of the dead')
    end
end

-- invariant 6
local function audit_ended(job, bad)
    for _, name in ipairs({'j:', 'ev:'}) do
        if call('TTL', P .. name .. job.id) == -1 then bad(6, job.id, 'has ended but ' .. name .. ' never expires') end
    end
    for _, name in ipairs({'p:' .. job.id, 'k:' .. job.id .. ':' .. job.epoch, 'd:' .. job.id .. ':' .. job.epoch}) do
        if call('EXISTS', P .. name) == 1 then bad(6, job.id, 'has ended but left ' .. name) end
    end
    for _, set in ipairs({'run', 'dl'}) do
        if call('ZSCORE', P .. set, job.id) then bad(6, job.id, 'has ended but is in ' .. set) end
    end
    if (job.referee or '') ~= '' and call('ZSCORE', P .. 'ref:' .. job.referee, job.id) then
        bad(6, job.id, 'has ended but waits for a referee')
    end
    if call('ZSCORE', P .. 'r:' .. job.tenant, job.id) then bad(6, job.id, 'has ended but its tenant\'s turn finds it') end
    if not call('ZSCORE', P .. 'arch', job.id) then bad(6, job.id, 'has ended but nobody will archive it') end
    audit_kept(job, bad)
    for i = 0, tonumber(job.tasks) - 1 do
        if call('ZSCORE', P .. 'lease', member_of(job, int(i))) then
            bad(6, job.id, 'has ended but task ' .. int(i) .. ' is leased')
        end
    end
end

-- audit_job(id) -> {violations, {field, value ...}}: the fields name blobs
local function audit_job(keys, args)
    local out, bad = audit_list()
    local job, blobs = load(args[1]), {}
    if not job then return {out, blobs} end
    local ended = TERMINAL[job.state] or false
    if not ended and not call('ZSCORE', P .. 'idx:' .. job.tenant, job.id) then
        bad(1, job.id, 'is not in the index of its tenant')
    end
    if (call('SISMEMBER', P .. 'open:' .. job.tenant, job.id) == 1) == ended then
        bad(7, job.id, ended and 'has ended but is counted as open' or 'is not counted as open')
    end
    audit_events(job, bad)
    if ended then audit_ended(job, bad) else audit_tasks(job, bad) end
    for field, value in pairs(job) do
        local kind = string.sub(field, 1, 2)
        if kind == 'a:' or kind == 'b:' or field == 'module' or field == 'request' or field == 'history' then
            blobs[#blobs + 1] = field
            blobs[#blobs + 1] = value
        end
    end
    return {out, blobs}
end

-- audit_keys(key ...): every key of a job belongs to one, and to its present step or the one before
local function audit_keys(keys, args)
    local out, bad = audit_list()
    for _, key in ipairs(args) do
        local kind, id, epoch = string.match(key, '^{t}:(%a+):([^:]+):?(%d*)$')
        local job = load(id)
        if call('EXISTS', key) == 0 then
            -- gone since it was seen
        elseif kind == 'o' then   -- of an archived or forgotten job
            if call('TTL', key) == -1 then bad(6, key, 'never expires') end
            if job then bad(6, key, 'is archived but also in Redis') end
            local old = call('HMGET', key, 'state', 'tenant')
            if old[1] == 'gone' then
                if call('ZSCORE', P .. 'idx:' .. old[2], id) then bad(6, key, 'was forgotten but is in the index of its tenant') end
            elseif not job then
                audit_kept({id = id, state = old[1] or '', tenant = old[2] or ''}, bad)
            end
        elseif not job then
            if call('TTL', key) == -1 then bad(6, key, 'belongs to no job and never expires') end
        elseif epoch ~= '' and (tonumber(epoch) > tonumber(job.epoch) or tonumber(epoch) < tonumber(job.epoch) - 1) then
            bad(6, key, 'belongs to no step of its job, which is at ' .. job.epoch)
        end
    end
    return out
end

-- audit_known(id ...) -> the ids that Redis does not know
local function audit_known(keys, args)
    local missing = {}
    for _, id in ipairs(args) do
        if call('EXISTS', P .. 'j:' .. id, P .. 'o:' .. id) == 0 then missing[#missing + 1] = id end
    end
    return missing
end

-- a member that a set should not hold any more, or whose job is lost
local function audit_member(set, id, bad)
    local job = load(id)
    if not job then
        bad(1, id, 'is in ' .. set .. ' but the job is gone')
    elseif TERMINAL[job.state] and set ~= 'dead' then
        bad(6, id, 'has ended but is in ' .. set)
    end
    return job
end

-- audit_sets(tenant ...): leases, queues and counters at one instant
local function audit_sets(keys, args)
    local out, bad = audit_list()
    local states, open, sum, turns = {}, 0, 0, 0
    for _, set in ipairs({'run', 'dl'}) do
        for _, id in ipairs(call('ZRANGE', P .. set, 0, -1)) do audit_member(set, id, bad) end
    end
    for _, member in ipairs(call('ZRANGE', P .. 'lease', 0, -1)) do
        local id, kind, epoch, index = parse_member(member)
        local job = id and load(id)
        if not job or job.epoch ~= epoch or job.kind ~= kind or tonumber(index) >= tonumber(job.tasks) then
            bad(1, member, 'is leased but is no task of a present step')
        end
    end
    for _, tenant in ipairs(args) do
        for _, id in ipairs(call('SMEMBERS', P .. 'open:' .. tenant)) do
            local job = audit_member('open', id, bad)
            if job then states[job.state] = (states[job.state] or 0) + 1 end
            open = open + 1
        end
        turns = turns + call('ZCARD', P .. 'r:' .. tenant)
    end
    if turns ~= call('ZCARD', P .. 'run') then
        bad(7, 'run', 'has ' .. call('ZCARD', P .. 'run') .. ' jobs; the tenants\' turns have ' .. turns)
    end
    local counters = call('HGETALL', P .. 'n')
    for i = 1, #counters, 2 do
        local state, n = string.match(counters[i], '^jobs:(%a+)$'), tonumber(counters[i + 1])
        if state then
            local shown = 0
            for _, tenant in ipairs(args) do shown = shown + call('ZCARD', P .. 'st:' .. tenant .. ':' .. state) end
            if shown ~= n then bad(7, counters[i], 'counts ' .. int(n) .. '; the index by state has ' .. shown) end
            sum = sum + n
            if not TERMINAL[state] and n ~= (states[state] or 0) then
                bad(7, counters[i], 'counts ' .. int(n) .. '; jobs in this state are ' .. (states[state] or 0))
            end
            states[state] = nil
        end
    end
    for state, n in pairs(states) do bad(7, 'jobs:' .. state, 'counts nothing; jobs in this state are ' .. n) end
    local submitted = tonumber(call('HGET', P .. 'n', 'submitted') or '0') - tonumber(call('HGET', P .. 'n', 'deleted') or '0')
    if sum ~= submitted then bad(7, 'jobs:*', 'count ' .. int(sum) .. ' together; submitted were ' .. int(submitted)) end
    return out
end

-- audit_modules(tenant): what its modules take is their sum
local function audit_modules(keys, args)
    local out, bad = audit_list()
    local sum, counted = 0, tonumber(call('HGET', P .. 'blobs', args[1]) or '0')
    for _, value in ipairs(call('HVALS', P .. 'blob:' .. args[1])) do
        sum = sum + tonumber(string.match(value, '^(%d+) ') or '0')
    end
    if sum ~= counted then
        bad(7, 'blobs:' .. args[1], 'counts ' .. int(counted) .. ' bytes; the modules have ' .. int(sum))
    end
    return out
end

register('audit_modules', audit_modules, {'no-writes', 'allow-oom'})
register('audit_job', audit_job, {'no-writes', 'allow-oom'})
register('audit_keys', audit_keys, {'no-writes', 'allow-oom'})
register('audit_known', audit_known, {'no-writes', 'allow-oom'})
register('audit_sets', audit_sets, {'no-writes', 'allow-oom'})
