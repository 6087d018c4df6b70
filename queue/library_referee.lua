-- Referees: workers that compile a job's plans with the compiler that will run them. They come over HTTP (server/resources/
-- referee.c) and take only tasks of kind `referee`, of any build; planning workers never do. Continues library.lua (same chunk).
--
--   {t}:ref:<name>   zset: jobs whose step waits for a referee of this name, oldest first (in place of {t}:run)
--   {t}:referees     zset: <name>/<worker> -> when (ms) it was last heard of
--
-- Lease, beats, deaths and the caps on them are those of any task. A job whose referees are all gone for REFEREE_GONE_MS ends
-- without: the step that writes artifacts follows, and the report says so.

local REFEREE_LIVE_MS, REFEREE_GONE_MS = 30000, 60000

local function referee_heard(worker, names, first)
    local now = now_ms()
    for i = first, #names do call('ZADD', P .. 'referees', int(now), names[i] .. '/' .. worker) end
    call('ZREMRANGEBYSCORE', P .. 'referees', '-inf', int(now - 10 * REFEREE_GONE_MS))
end

local function referee_live(name, within_ms)
    for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'referees', int(now_ms() - within_ms), '+inf')) do
        if string.match(member, '^[^/]+') == name then return true end
    end
    return false
end

-- referee_claim(worker, token, name ...) -> task or nil; the worker is one of these referees. As claim: the same token is given
-- the same task again.
local function referee_claim(keys, args)
    referee_heard(args[1], args, 3)
    local over, given = claim_before(args[2])
    if over then return given end
    for i = 3, #args do
        for _, id in ipairs(call('ZRANGE', P .. 'ref:' .. args[i], 0, 15)) do
            local job = load(id)
            if not job or TERMINAL[job.state] or job.kind ~= 'referee' then
                call('ZREM', P .. 'ref:' .. args[i], id)
            else
                local task = take(job, args[2])
                if task then return task end
            end
        end
    end
    return nil
end

-- referee_beat(worker, member, token, name ...) -> 1: the task is still this token's, its lease is renewed | 0
local function referee_beat(keys, args)
    referee_heard(args[1], args, 4)
    if not held_job(args[2], args[3]) or not call('ZSCORE', P .. 'lease', args[2]) then return 0 end
    call('ZADD', P .. 'lease', int(now_ms() + LEASE_MS), args[2])
    return 1
end

local function write_artifacts(job, event_name)
    drop_step(job)
    if job.state ~= 'cancelling' then set_state(job, 'finalizing') end
    start_step(job, tonumber(job.epoch) + 1, 'emit', 1, '', '')
    event(job, 'step', event_name)
end

-- referee_done(member, token, blob) -> 'ok' | 'fenced'. After a lost reply the same token is answered 'ok' again.
local function referee_done(keys, args)
    local job, any = held_job(args[1], args[2])
    if not job then
        if any and any.refereed == args[2] then return 'ok' end
        count('fenced')
        return 'fenced'
    end
    job.committing = job.fence
    call('HSET', P .. 'j:' .. job.id, 'b:referee', args[3], 'refereed', args[2])
    task_noted(job, '0', args[2])
    count('tasks:referee:ok')
    call('HINCRBY', P .. 'j:' .. job.id, 'tasks_done', 1)
    write_artifacts(job, 'emit')
    return 'ok'
end

-- referees() -> names of referees that were heard of lately
local function referees()
    local out = {}
    for _, name in ipairs(REFEREES) do
        if referee_live(name, REFEREE_LIVE_MS) then out[#out + 1] = name end
    end
    return out
end

-- of reap: jobs that nobody will judge any more
referee_reap = function()
    for _, name in ipairs(REFEREES) do
        if call('EXISTS', P .. 'ref:' .. name) == 1 and not referee_live(name, REFEREE_GONE_MS) then
            for _, id in ipairs(call('ZRANGE', P .. 'ref:' .. name, 0, 19)) do
                local job = load(id)
                if job and job.kind == 'referee' and not TERMINAL[job.state] then
                    call('HSET', P .. 'j:' .. id, 'digest_build', '')   -- no answer to the next equal request
                    write_artifacts(job, 'emit')
                else
                    call('ZREM', P .. 'ref:' .. name, id)
                end
            end
        end
    end
end

register('referee_claim', referee_claim, {'allow-oom'})
register('referee_beat', referee_beat, {'allow-oom'})
register('referee_done', referee_done, {'allow-oom'})
register('referees', referees, {'allow-oom', 'no-writes'})
