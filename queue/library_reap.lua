-- Tasks that come back undone: given back by a worker that leaves, by one whose process died or could not work, taken up when their lease is over;
-- and what else is a matter of time. Continues library.lua (same chunk).

-- Every lost attempt has a reason and counts towards a cap: what the task did to its process (`fault`, `time_limit`) to
-- TASK_DEATHS, what was done to it (`oom`, `killed`, `exit`, `host`, `lease`) to TASK_HOST_DEATHS.
local OWN = {fault = true, time_limit = true}
local REASONS = {'fault', 'time_limit', 'memory_limit', 'oom', 'killed', 'exit', 'host', 'lease'}

-- -> deaths of this kind so far, whether that is the last that is allowed
local function note_death(job, index, reason)
    local k, own = P .. 'k:' .. job.id .. ':' .. job.epoch, OWN[reason]
    count('deaths:' .. reason)
    call('HINCRBY', k, 'e:' .. index .. ':' .. reason, 1)
    local deaths = call('HINCRBY', k, (own and 'c:' or 'h:') .. index, 1)
    return deaths, deaths >= (own and TASK_DEATHS or TASK_HOST_DEATHS)
end

-- the end of a job whose hosts have lost every attempt: how often, by what, and how the last one ended
local function dead_by_hosts(job, index, last)
    local k, by, all = P .. 'k:' .. job.id .. ':' .. job.epoch, {}, 0
    for _, reason in ipairs(REASONS) do
        local n = call('HGET', k, 'e:' .. index .. ':' .. reason)
        if n then
            by[#by + 1] = reason .. ' ' .. n
            all = all + tonumber(n)
        end
    end
    local message = 'task ' .. job.kind .. ' lost ' .. int(all) .. ' attempts (' .. table.concat(by, ', ') .. '), the last: ' .. last
    terminal(job, job.stop == 'cancel' and 'cancelled' or 'dead',
             '{"code":"host_fault","message":' .. cjson.encode(message) .. '}')
end

requeue = function(member, lost)
    local id, kind, epoch, index = parse_member(member)
    call('ZREM', P .. 'lease', member)
    local job = load(id)
    if not job or TERMINAL[job.state] or job.epoch ~= epoch or job.kind ~= kind then return end
    local k = P .. 'k:' .. id .. ':' .. epoch
    if call('HEXISTS', k, 'r:' .. index) == 1 then return end
    if lost and call('HEXISTS', k, 'o:' .. index) == 1 then   -- else a pause is over
        count('lease_lost')
        local _, last = note_death(job, index, 'lease')
        if last then return dead_by_hosts(job, index, 'its worker was gone or cut off for ' .. LEASE_MS / 1000 .. ' s') end
    end
    task_ends(job, index)
    call('HDEL', k, 'o:' .. index, 's:' .. index)
    call('ZADD', P .. 'p:' .. id, index, index)
    run_add(job)
    ring()
end

-- release(member, token): a worker that leaves gives its task back
local function release(keys, args)
    local job, any = held_job(args[1], args[2])
    if job then
        requeue(args[1], false)
        return 1
    end
    local id, _, epoch, index = parse_member(args[1])   -- perhaps it did the task a second time (assist)
    local k = id and P .. 'k:' .. id .. ':' .. epoch
    if any and call('HGET', k, 'x:' .. index) == args[2] then call('HDEL', k, 'x:' .. index) end
    return 0
end

-- died(member, token, error, random, reason) -> 'again' | 'dead' | 'failed' | 'stale': the attempt was lost. `random`, 0 to
-- 65535, chooses the pause before the next one. By the task's own fault: from 1 s to 4 s after the first death, 16 s after the
-- second. By its host: half to all of 1 s, 2 s, 4 s .. 60 s. `memory_limit` (a limit of the worker) ends the job at once.
-- The error is the job's at its last own death; of what hosts did, its `message` says how the last attempt ended.
local function died(keys, args)
    local job, _, index = held_job(args[1], args[2])
    if not job then return 'stale' end
    local k, reason, random = P .. 'k:' .. job.id .. ':' .. job.epoch, args[5] or 'fault', tonumber(args[4]) % 65536 / 65536
    local deaths, last = note_death(job, index, reason)
    if reason == 'memory_limit' then
        finish(keys, {args[1], args[2], 'failed', args[3], ''})
        return 'failed'
    end
    if OWN[reason] then count('tasks:' .. job.kind .. ':died') end
    if last and OWN[reason] then
        terminal(job, job.stop == 'cancel' and 'cancelled' or 'dead', args[3])
        return 'dead'
    elseif last then
        local good, err = pcall(cjson.decode, args[3])
        dead_by_hosts(job, index, good and type(err) == 'table' and type(err.message) == 'string' and err.message or reason)
        return 'dead'
    end
    task_ends(job, index)
    local pause = math.min(BACKOFF_MAX_MS, 500 * 2 ^ deaths) * (1 + random) / 2
    if OWN[reason] then pause = 1000 + (math.min(BACKOFF_MAX_MS, 1000 * 4 ^ deaths) - 1000) * random end
    call('HDEL', k, 'o:' .. index, 's:' .. index)
    call('ZADD', P .. 'lease', int(now_ms() + pause), args[1])   -- reap takes it up after the pause
    event(job, 'retry', job.kind)
    return 'again'
end

-- fail: whatever the job has is too late, also what seconds have cut short meanwhile
local function stop_at_deadline(job, fail)
    local late = fail and 'the end, and on_deadline is fail' or 'a plan was ready'
    stop_job(job, 'deadline', fail and 'discard' or '', '{"code":"deadline","detail":"the deadline passed before ' .. late .. '"}')
end

-- how long after its deadline a job may still write what it has found, without the proof: a tenth of what it was given, 5 s to a minute
local function grace_of(job)
    return math.max(5000, math.min(60000, (tonumber(job.deadline) - tonumber(job.accepted or job.created)) / 10))
end

-- its artifacts were not written in that time either: the best plan that it has shown is what it leaves
local function end_late(job)
    if job.state == 'cancelling' then return terminal(job, 'cancelled', '') end
    local found = job['a:plan.json'] and 'the other artifacts were written: plan.json is the best plan by then' or 'a plan was ready'
    terminal(job, 'expired', '{"code":"deadline","detail":"the deadline passed before ' .. found .. '"}')
end

-- `score` is when the job was to be looked at: after its deadline only where that has passed once already
local function watch_deadline(job, score, now)
    local deadline, fail = tonumber(job.deadline), job.on_deadline == 'fail'
    if deadline > 0 and score > deadline and now >= score then return end_late(job) end
    if deadline > 0 and deadline <= now then
        if job.stop == '' or job.stop == 'seconds' then stop_at_deadline(job, fail) end
        if not TERMINAL[job.state] then call('ZADD', P .. 'dl', int(now + grace_of(job)), job.id) end
    elseif job.stop == '' and job.state == 'running' and job.wrap ~= '' and job.kind ~= 'referee' then
        stop_job(job, 'seconds', '', '')
    end
    if deadline > now then call('ZADD', P .. 'dl', job.deadline, job.id) end
end

-- reap(): called about once a second by every worker and server; returns how many tasks were taken up again
local function reap()
    local now = now_ms()
    local last = tonumber(call('HGET', P .. 'n', 'reaped') or '0')
    call('HSET', P .. 'n', 'reaped', int(now))
    if last > 0 and now - last > GAP_MS then   -- nobody could beat either: an outage is not a crash
        local leases = call('ZRANGEBYSCORE', P .. 'lease', '-inf', int(now + LEASE_MS), 'WITHSCORES')
        for i = 1, #leases, 2 do   -- what was left of a lease is left of it still
            local ends = math.min(tonumber(leases[i + 1]) + now - last, now + LEASE_MS)
            call('ZADD', P .. 'lease', 'XX', int(ends), leases[i])
        end
    end
    -- when Redis' clock was set back, leases and beats lie in the future: nobody would be missed for that long
    for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'lease', '(' .. int(now + BACKOFF_MAX_MS), '+inf', 'LIMIT', 0, 200)) do
        call('ZADD', P .. 'lease', int(now + LEASE_MS), member)
    end
    for _, set in ipairs({'builds', 'workers'}) do
        for _, who in ipairs(call('ZRANGEBYSCORE', P .. set, '(' .. int(now + LEASE_MS), '+inf', 'LIMIT', 0, 200)) do
            call('ZADD', P .. set, int(now), who)
        end
    end
    local expired = call('ZRANGEBYSCORE', P .. 'lease', '-inf', int(now), 'LIMIT', 0, 200)
    for _, member in ipairs(expired) do requeue(member, true) end
    local due = call('ZRANGEBYSCORE', P .. 'dl', '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, 50)
    for i = 1, #due, 2 do
        local job = load(due[i])
        call('ZREM', P .. 'dl', due[i])
        if job and not TERMINAL[job.state] then watch_deadline(job, tonumber(due[i + 1]), now) end
    end
    call('ZREMRANGEBYSCORE', P .. 'workers', '-inf', int(now - 15000))
    call('XTRIM', P .. 'q', 'MAXLEN', 0)
    run_mend()
    referee_reap()
    modules_expire()
    if call('ZCARD', P .. 'run') > 0 then ring() end
    return #expired
end

register('release', release, {'allow-oom'})
register('died', died, {'allow-oom'})
register('reap', reap, {'allow-oom'})
